"""Where the server can stand: as which user, in which namespaces, confined how.

A place that this machine cannot offer says why; it is reported, never left out in silence. As root the
server gets a mount namespace with its own /tmp and /dev/shm, so that what a program leaves there is seen
and nobody else's files are. The server is ended with the place.
"""

import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from .items import CANARY

ROOT = Path(__file__).resolve().parent.parent.parent
START_S = 90.0


@dataclass(frozen=True)
class Place:
    """One configuration."""

    name: str
    user: Literal["root", "own uid", "nobody", "own"]
    """`root`: its Python cannot be read by others, so runs keep the uid. `own uid`: it can, so each slot
    has its own. `own`: whoever runs the tests, who is not root."""

    profile: str
    weakness: str | None = None
    compare: bool = False

    def missing(self) -> str | None:
        """Why it cannot be had here; None if it can."""
        if self.profile == "strict+bwrap" and not shutil.which("bwrap"):
            return "bubblewrap is not installed"
        if (self.user == "own") == (os.geteuid() == 0):
            return "the tests run as root" if self.user == "own" else "the tests do not run as root"
        if self.user != "own" and not (shutil.which("unshare") and shutil.which("setpriv")):
            return "util-linux is not installed"
        if self.user == "root" and _closed_ancestors() == []:
            return "Python is readable by everybody here, so that root gives each run a uid"
        return None


def _closed_ancestors() -> list[str]:
    """Folders above Python or this project that only root may enter."""
    needed = (sys.base_prefix, sys.prefix, str(ROOT))
    above = {str(each) for path in needed for each in Path(path).resolve().parents}
    return sorted(path for path in above if not os.stat(path).st_mode & 0o001)


def _command(place: Place, port: int) -> list[str]:
    words = [sys.executable, "-m", f"{__package__}.serve", str(port), place.profile]
    if place.weakness:
        words.append(place.weakness)
    if place.user == "own":
        return words
    script = "set -e\nmount -t tmpfs -o mode=1777,size=64m tmpfs /dev/shm\n"
    closed = _closed_ancestors()
    if place.user != "root" and closed:
        # The same files where everybody may go, in this namespace alone.
        kept = {os.path.realpath(path) for path in (sys.base_prefix, sys.prefix, str(ROOT))}
        below = sorted(path for path in kept if any(path.startswith(f"{top}/") for top in closed))
        script += "mount -t tmpfs tmpfs /mnt\n"
        for number, path in enumerate(below):
            script += f"mkdir /mnt/{number}\nmount --bind {shlex.quote(path)} /mnt/{number}\n"
        for top in closed:
            script += f"mount -t tmpfs -o mode=755,size=1m tmpfs {shlex.quote(top)}\n"
        for number, path in enumerate(below):
            script += f"mkdir -p {shlex.quote(path)}\nmount --bind /mnt/{number} {shlex.quote(path)}\n"
    script += "mount -t tmpfs -o mode=1777,size=64m tmpfs /tmp\n"
    run = shlex.join(words)
    if place.user == "nobody":
        # No more tasks and memory than a server and its runs need: what is weakened may be hit.
        run = (
            "setpriv --reuid 65534 --regid 65534 --clear-groups "
            f"--inh-caps=-all --bounding-set=-all prlimit --nproc=700 {run}"
        )
    return ["unshare", "--mount", "--ipc", "--propagation", "private", "sh", "-c", f"{script}exec {run}"]


class Server:
    """A running server, and what can be seen of it from outside."""

    def __init__(self, process: "subprocess.Popen[bytes]", port: int) -> None:
        self.process = process
        self.url = f"http://127.0.0.1:{port}"

    def health(self) -> dict[str, Any]:
        """What it says of itself."""
        with urllib.request.urlopen(f"{self.url}/healthz", timeout=10) as answer:
            said: dict[str, Any] = json.load(answer)
        return said

    @property
    def zygote(self) -> int:
        """The process that forks: a child of the server, or within what bubblewrap has put around it."""
        pid = self.process.pid
        while True:
            below = {each: _line(each) for each in children(pid)}
            found = [each for each, line in below.items() if _is_python(line)]
            outer = [each for each, line in below.items() if b"bwrap" in line.partition(b"\0")[0]]
            if found or not outer:
                return found[0] if found else pid
            pid = outer[0]

    def belongings(self) -> dict[str, Any]:
        """What must be the same before and after an attack."""
        return {
            "descriptors of the server": _held(self.process.pid),
            "descriptors of the zygote": _held(self.zygote),
            "children of the server": len(children(self.process.pid)),
            "runs": len(children(self.zygote)) - self.health()["queue"]["prepared"],
            "/tmp": _listed(self.process.pid, "tmp"),
            "/dev/shm": _listed(self.process.pid, "dev/shm"),
            "zygote": self.zygote,
        }


def children(pid: int) -> list[int]:
    """Processes that it started and that have not been reaped."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(each) for each in task.read_text().split()]
        except OSError:
            continue
    return found


def _line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _is_python(line: bytes) -> bool:
    program, _, rest = line.partition(b"\0")
    return b"python" in program and (b"zygote" in rest or b"weakened" in rest)


def _held(pid: int) -> int | None:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except PermissionError:  # not dumpable, and we are not root
        return None


def _listed(pid: int, folder: str) -> list[str] | None:
    """Names in a folder as the server sees it; only of its own user where it is everybody's."""
    path = Path(f"/proc/{pid}/root/{folder}")
    try:
        return sorted(each.name for each in path.iterdir() if os.geteuid() == 0 or each.owner() == "")
    except (OSError, KeyError):
        return None


@contextmanager
def standing(place: Place) -> Iterator[Server]:
    """The server in its place."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    environment = {
        **os.environ,
        "SBX_CANARY": CANARY,
        "COMPARE": "1" if place.compare else "0",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    process = subprocess.Popen(_command(place, port), env=environment, start_new_session=True, cwd=ROOT)
    try:
        server = Server(process, port)
        _until_ready(server, place)
        yield server
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _until_ready(server: Server, place: Place) -> None:
    deadline = time.monotonic() + START_S
    while True:
        try:
            if server.health()["status"] == "ok":
                return
        except OSError:
            pass
        if server.process.poll() is not None or time.monotonic() > deadline:
            raise AssertionError(f"the server does not start in the place {place.name!r}")
        time.sleep(0.2)
