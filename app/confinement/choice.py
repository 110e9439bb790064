"""Finds the strongest profile that holds on this machine, by trying each in a process of its own.

That a profile was chosen proves nothing for good: the zygote tries its jail once more, and the server
looks at a first child from outside. Whatever goes wrong here, a hang included, counts against a profile;
`none` is never found, only asked for.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from ..profiles import AskedProfile, Profile, leads_to_a_gpu
from . import bubblewrap, landlock, seccomp
from .jail import NotConfined, building
from .trial import LIMIT_S

_START_S = 20.0
"""Most time for Python to start and a trial to end, on a machine that is busy."""

_PYTHON = (sys.executable, "-s", "-P", "-m")


@dataclass(frozen=True)
class Chosen:
    """A profile that holds, and its filter, compiled outside every wall."""

    profile: Profile

    filter: int | None
    """Descriptor of a file in memory, inherited by what is executed next. None for `none`."""


def choose(choice: AskedProfile) -> Chosen:
    """Try what was asked for; of `auto` the strongest that holds.

    Raises:
        NotConfined: Nothing holds. The message says of each profile why.
    """
    if choice == "none":
        return Chosen("none", None)
    faults: list[str] = []
    for profile in _candidates(choice):
        try:
            return _tried(profile)
        except NotConfined as fault:
            faults.append(f"{profile}: {fault}")
    raise NotConfined("self-test", "; ".join(faults))


def command(chosen: Chosen, module: str, arguments: Sequence[str] = ()) -> list[str]:
    """The command that runs a module of ours under the outer wall of a profile.

    Raises:
        NotConfined: The profile has an outer wall and bubblewrap is not installed.
    """
    told = ["--profile", chosen.profile]
    if chosen.filter is not None:
        told += ["--filter", str(chosen.filter)]
    inner = [*_PYTHON, module, *arguments, *told]
    if not chosen.profile.endswith("+bwrap"):
        return inner
    wrapped = bubblewrap.around(inner, cuda=leads_to_a_gpu(chosen.profile))
    if wrapped is None:
        raise NotConfined("bubblewrap", "bwrap is not installed")
    return wrapped


def _candidates(choice: AskedProfile) -> tuple[Profile, ...]:
    if choice == "cuda":
        return ("cuda+bwrap", "cuda") if bubblewrap.program() else ("cuda",)
    if choice == "auto":
        return ("strict+bwrap", "strict", "sealed") if bubblewrap.program() else ("strict", "sealed")
    assert choice != "none"
    return (choice,)


def _tried(profile: Profile) -> Chosen:
    sealed = profile == "sealed"
    abi = 0 if sealed else building("landlock", landlock.abi_of_kernel)
    cuda = leads_to_a_gpu(profile)
    compiled = building("seccomp", lambda: seccomp.build(sealed=sealed, landlock_abi=abi, cuda=cuda))
    chosen = Chosen(profile, _in_memory(compiled.instructions))
    try:
        _try(chosen)
    except NotConfined:
        assert chosen.filter is not None
        os.close(chosen.filter)
        raise
    return chosen


def _in_memory(content: bytes) -> int:
    descriptor = os.memfd_create("filter", 0)
    os.write(descriptor, content)
    return descriptor


def _try(chosen: Chosen) -> None:
    """Have a process of its own try the profile, with the walls that stand around a zygote."""
    assert chosen.filter is not None
    trying = subprocess.Popen(
        command(chosen, f"{__package__}"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=[chosen.filter],
        start_new_session=True,
    )
    try:
        said, complaint = trying.communicate(timeout=_START_S + LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(trying.pid, signal.SIGKILL)
        trying.communicate()
        raise NotConfined("trial", "the self-test did not end in time") from None
    if trying.returncode == 0 and said == b'{"held": true}\n':
        return
    try:
        fault = json.loads(said)
        raise NotConfined(str(fault["layer"]), str(fault["fault"]))
    except (ValueError, KeyError, TypeError):
        words = complaint.decode(errors="replace").strip().splitlines()[-1:]
        raise NotConfined("trial", words[0] if words else "the self-test said nothing") from None
