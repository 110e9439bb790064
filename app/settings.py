"""The environment, read once, as a frozen value.

Only roots import this module; they pass values down. It starts nothing and checks nothing but types.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Literal

from .profiles import ProfileChoice
from .schema import Limits

KIB, MIB = 1024, 1024 * 1024

UNSAFE = "TENSOR_ANATOMY_UNSAFE_NO_SANDBOX"
_THE_WORDS = "i-trust-every-user"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a server is told from outside. Every field can be set by a variable of the environment."""

    host: str = "127.0.0.1"
    """HOST: the address to listen on."""

    port: int = 8000
    """PORT: the port to listen on."""

    public_url: str | None = None
    """PUBLIC_URL: how readers reach the server, for links in embeds; else taken from each request."""

    frame_ancestors: str = "*"
    """FRAME_ANCESTORS: which sites may embed a player, as in a Content-Security-Policy."""

    api_origins: tuple[str, ...] = ()
    """API_ORIGINS: other sites whose pages may run programs here, separated by spaces; `*` for all. Without
    credentials, which there are none of. None by default."""

    lessons: Path | None = None
    """LESSONS: a folder with lessons to serve instead of the built-in ones."""

    require_sandbox: bool = False
    """REQUIRE_SANDBOX: `1` refuses to start where programs cannot be confined."""

    sandbox: ProfileChoice = "auto"
    """SANDBOX: how programs are confined: `strict`, `strict+bwrap`, `sealed`, or `auto`, the strongest of
    them that holds here."""

    unsafe_no_sandbox: bool = False
    """TENSOR_ANATOMY_UNSAFE_NO_SANDBOX: `i-trust-every-user` runs programs without a sandbox, for this
    machine alone: whoever reaches the server can do what its user can."""

    sandboxes: int = field(default_factory=lambda: os.cpu_count() or 1)
    """SANDBOXES: programs that run at the same time; one per core."""

    prepare: bool = True
    """PREPARE: `0` forks a process for each run when it comes; else two for each sandbox wait, confined,
    while nothing runs: for the run and the unobserved one. Each takes some 13 MB."""

    queue: int = 32
    """QUEUE: requests that may wait for a sandbox; more are refused."""

    client_queue: int | None = None
    """CLIENT_QUEUE: requests of one client that may wait, half of QUEUE if not set. Clients take turns, and
    one sandbox more is kept for a client whom another would keep waiting by holding all of them."""

    trusted_proxy: str = ""
    """TRUSTED_PROXY: addresses or networks of proxies in front of the server, separated by spaces. What
    they say of the client and of https is believed; nobody is by default."""

    forwarded_header: str = "X-Forwarded-For"
    """FORWARDED_HEADER: where those proxies write the client's address: `X-Forwarded-For`, `Forwarded`, or
    a header of theirs with a single address, such as `X-Real-IP`."""

    body_s: float = 10.0
    """BODY_SECONDS: time until a request must have arrived, and until a client that reads nothing is cut
    off."""

    compare: bool = True
    """COMPARE: `0` leaves out the unobserved run that shows what watching changed."""

    source_bytes: int = 64 * KIB
    """SOURCE_BYTES: longest program, in UTF-8."""

    wall_s: float = 5.0
    """WALL_SECONDS: time until a program is stopped."""

    cpu_s: int = 4
    """CPU_SECONDS: processor time until a program is stopped."""

    memory_bytes: int = 512 * MIB
    """MEMORY_BYTES: memory a program may use above an idle sandbox."""

    steps_kept: int = 2_000
    """STEPS: steps kept one by one; later iterations are folded."""

    statements: int = 1_000_000
    """STATEMENTS: executed statements until a program is stopped."""

    stdout_kept_bytes: int = 64 * KIB
    """STDOUT_KEPT_BYTES: output that is kept."""

    stdout_bytes: int = 8 * MIB
    """STDOUT_BYTES: output until a program is stopped."""

    trace_bytes: int = 4 * MIB
    """TRACE_BYTES: size of a trace."""

    value_elements: int = 1_024
    """VALUE_ELEMENTS: tensors up to this size have every value recorded."""

    device: Literal["auto", "cpu", "cuda", "simulated-cuda"] = "auto"
    """DEVICE: what programs may use besides the CPU: `simulated-cuda`, which is `auto`; nothing (`cpu`); this
    machine's GPU as well (`cuda`), which takes some walls down for the programs that use it."""

    cuda_visible_devices: str = "0"
    """CUDA_VISIBLE_DEVICES: the GPUs that programs see with DEVICE=cuda."""

    cuda_sandboxes: int = 1
    """CUDA_SANDBOXES: programs that use a GPU at the same time."""

    cuda_memory_fraction: float = 0.5
    """CUDA_MEMORY_FRACTION: how much of a GPU's memory one program may take, as a fraction. PyTorch keeps to
    it; a program that means harm does not."""

    simulated_cuda_bytes: int = 64 * MIB
    """SIMULATED_CUDA_BYTES: memory of a simulated CUDA device, small so that running out can be taught."""

    simulated_cuda_devices: int = 1
    """SIMULATED_CUDA_DEVICES: how many simulated CUDA devices there are, at most 8."""

    cache: Path | None = None
    """CACHE: the folder where results are kept; `off` keeps none. From the environment, else the user's
    cache folder."""

    cache_bytes: int = 256 * MIB
    """CACHE_BYTES: results kept in all, compressed; the longest unused are forgotten first."""

    metrics: bool = True
    """METRICS: `0` leaves out `/metrics`."""

    log: Literal["text", "json"] = "text"
    """LOG: `json` writes the log as lines of JSON."""

    def __post_init__(self) -> None:
        if not self.unsafe_no_sandbox:
            return
        if self.device == "cuda":
            raise SettingInvalid(f"{UNSAFE} and DEVICE=cuda contradict each other")
        if self.require_sandbox or self.sandbox != "auto":
            raise SettingInvalid(f"{UNSAFE} and a sandbox that is asked for contradict each other")
        if not is_loopback(self.host):
            raise SettingInvalid(
                f"{UNSAFE} is for this machine alone: the server listens on 127.0.0.1, ::1 or localhost, "
                f"not on {self.host}"
            )

    @property
    def profile(self) -> ProfileChoice:
        """How programs are confined."""
        return "none" if self.unsafe_no_sandbox else self.sandbox

    @property
    def devices(self) -> tuple[str, ...]:
        """What programs may use that use no GPU."""
        return ("cpu",) if self.device == "cpu" else ("cpu", "simulated-cuda")

    @property
    def limits(self) -> Limits:
        """The limits of one run."""
        return Limits(
            wall_s=self.wall_s,
            cpu_s=self.cpu_s,
            memory_bytes=self.memory_bytes,
            steps_kept=self.steps_kept,
            statements=self.statements,
            stdout_kept_bytes=self.stdout_kept_bytes,
            stdout_bytes=self.stdout_bytes,
            trace_bytes=self.trace_bytes,
            value_elements=self.value_elements,
            device_bytes=self.simulated_cuda_bytes,
            devices=self.simulated_cuda_devices,
        )

    @classmethod
    def from_env(cls, environment: Mapping[str, str] | None = None) -> "Settings":
        """Read the settings.

        Args:
            environment: The variables; those of this process if None.

        Raises:
            SettingInvalid: A variable does not hold what it should.

        >>> Settings.from_env({"PORT": "9000"}).port
        9000
        """
        variables = os.environ if environment is None else environment
        values: dict[str, object] = {"cache": _users_cache(variables)}
        for name, (variable, read) in _VARIABLES.items():
            text = variables.get(variable, "")
            if not text:
                continue
            try:
                values[name] = read(text)
            except ValueError as e:
                raise SettingInvalid(f"{variable}={text!r} cannot be read: {e}") from e
        return cls(**values)  # type: ignore[arg-type]  # _VARIABLES reads each by its own type


def _users_cache(variables: Mapping[str, str]) -> Path | None:
    """The folder for caches of whoever runs the server; None for a user without a home."""
    if folder := variables.get("XDG_CACHE_HOME"):
        return Path(folder) / "tensor-anatomy"
    home = variables.get("HOME")
    return Path(home) / ".cache" / "tensor-anatomy" if home else None


def is_loopback(host: str) -> bool:
    """Whether nobody on another machine reaches a server that listens there.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0"), is_loopback("")
    (True, True, False, False)
    """
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class SettingInvalid(ValueError):
    """A variable of the environment does not hold what it should."""


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError("it must be at least 1")
    return number


def _devices(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 8:
        raise ValueError("it must be from 1 to 8")
    return number


def _device(text: str) -> str:
    offered = ("auto", "cpu", "cuda", "simulated-cuda")
    if text not in offered:
        raise ValueError(f"it must be one of {', '.join(offered)}")
    return text


def _gpus(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9,/-]+", text):
        raise ValueError("it must be numbers or names of GPUs, separated by commas")
    return text


def _fraction(text: str) -> float:
    number = float(text)
    if not 0 < number <= 1:
        raise ValueError("it must be more than 0 and at most 1")
    return number


def _seconds(text: str) -> float:
    number = float(text)
    if not 0 < number < 3600:
        raise ValueError("it must be between 0 and 3600")
    return number


def _switch(text: str) -> bool:
    if text.lower() not in {"0", "1", "true", "false", "yes", "no"}:
        raise ValueError("it must be 1 or 0")
    return text.lower() in {"1", "true", "yes"}


def _confinement(text: str) -> str:
    offered = ("auto", "strict", "strict+bwrap", "sealed")
    if text not in offered:
        raise ValueError(f"it must be one of {', '.join(offered)}")
    return text


def _opt_out(text: str) -> bool:
    if text != _THE_WORDS:
        raise ValueError(f"only the words {_THE_WORDS} run programs without a sandbox")
    return True


def _line(text: str) -> str:
    if any(ord(c) < 32 or c in ";," for c in text):
        raise ValueError("it must be one line without ';' and ','")
    return text.rstrip("/")


_ORIGIN = re.compile(r"\*|null|https?://[a-z0-9.-]+(:\d{1,5})?")


def _origins(text: str) -> tuple[str, ...]:
    origins = tuple(text.lower().split())
    for origin in origins:
        if not _ORIGIN.fullmatch(origin):
            raise ValueError(f"{origin!r} is no origin such as https://course.example")
    return origins


def _proxies(text: str) -> str:
    for word in text.replace(",", " ").split():
        ip_network(word)
    return text


def _header(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9-]{1,64}", text):
        raise ValueError("it must be the name of a header")
    return text


def _folder(text: str) -> Path | None:
    return None if text.lower() in {"off", "0", "none"} else Path(text)


def _log(text: str) -> str:
    if text not in {"text", "json"}:
        raise ValueError("it must be text or json")
    return text


_VARIABLES: dict[str, tuple[str, Callable[[str], object]]] = {
    "host": ("HOST", str),
    "port": ("PORT", int),
    "public_url": ("PUBLIC_URL", _line),
    "frame_ancestors": ("FRAME_ANCESTORS", _line),
    "api_origins": ("API_ORIGINS", _origins),
    "lessons": ("LESSONS", Path),
    "require_sandbox": ("REQUIRE_SANDBOX", _switch),
    "sandbox": ("SANDBOX", _confinement),
    "unsafe_no_sandbox": (UNSAFE, _opt_out),
    "sandboxes": ("SANDBOXES", _count),
    "prepare": ("PREPARE", _switch),
    "queue": ("QUEUE", _count),
    "client_queue": ("CLIENT_QUEUE", _count),
    "trusted_proxy": ("TRUSTED_PROXY", _proxies),
    "forwarded_header": ("FORWARDED_HEADER", _header),
    "body_s": ("BODY_SECONDS", _seconds),
    "compare": ("COMPARE", _switch),
    "source_bytes": ("SOURCE_BYTES", _count),
    "wall_s": ("WALL_SECONDS", _seconds),
    "cpu_s": ("CPU_SECONDS", _count),
    "memory_bytes": ("MEMORY_BYTES", _count),
    "steps_kept": ("STEPS", _count),
    "statements": ("STATEMENTS", _count),
    "stdout_kept_bytes": ("STDOUT_KEPT_BYTES", _count),
    "stdout_bytes": ("STDOUT_BYTES", _count),
    "trace_bytes": ("TRACE_BYTES", _count),
    "value_elements": ("VALUE_ELEMENTS", _count),
    "device": ("DEVICE", _device),
    "cuda_visible_devices": ("CUDA_VISIBLE_DEVICES", _gpus),
    "cuda_sandboxes": ("CUDA_SANDBOXES", _count),
    "cuda_memory_fraction": ("CUDA_MEMORY_FRACTION", _fraction),
    "simulated_cuda_bytes": ("SIMULATED_CUDA_BYTES", _count),
    "simulated_cuda_devices": ("SIMULATED_CUDA_DEVICES", _devices),
    "cache": ("CACHE", _folder),
    "cache_bytes": ("CACHE_BYTES", _count),
    "metrics": ("METRICS", _switch),
    "log": ("LOG", _log),
}
