"""A sandbox with one thing wrong, to see that it is noticed: takes the place of the launcher in tests.

    python weakened.py WEAKNESS CONTROL --profile PROFILE

Nothing of the product can be told to do this: it happens by replacing functions in this process.
"""

import json
import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LAYER_CLASSES = {
    "descriptors": "OwnDescriptors",
    "environment": "EmptyEnvironment",
    "courtesy": "Courtesy",
    "rlimits": "Rlimits",
    "lifetime": "DiesWithZygote",
    "privileges": "NoNewPrivileges",
}


def command(weakness: str) -> list[str]:
    """Starts a sandbox with this weakness, as `ZygoteClient` wants it."""
    return [sys.executable, "-s", "-P", str(Path(__file__).resolve()), weakness]


def _layer_class(name: str) -> Any:
    from tensor_anatomy.confinement import jail, landlock, seccomp

    if name == "landlock":
        return landlock.ReadOnlyFiles
    if name in ("seccomp", "sealed seccomp"):
        return seccomp.SyscallAllowList
    return getattr(jail, LAYER_CLASSES[name])


def without(name: str) -> None:
    """A layer that does nothing, and says that it did; the zygote's own trial is not held."""
    from tensor_anatomy import zygote

    enter = _layer_class(name).enter

    def close_only(self: Any, child: Any) -> None:
        if name == "landlock":
            self.ruleset.close()

    assert enter
    _layer_class(name).enter = close_only
    zygote.try_once = lambda jail: None
    zygote.main()


def untried(name: str) -> None:
    """As `without`, but the zygote does hold its trial."""
    from tensor_anatomy import zygote

    def close_only(self: Any, child: Any) -> None:
        if name == "landlock":
            self.ruleset.close()

    _layer_class(name).enter = close_only
    zygote.main()


def failing(name: str) -> None:
    """A layer that fails in every child."""
    from tensor_anatomy import zygote

    def fail(self: Any, child: Any) -> None:
        raise OSError("broken on purpose")

    _layer_class(name).enter = fail
    zygote.main()


def failing_later(name: str) -> None:
    """A layer that holds in the trial and the proof and fails in every child after them."""
    from tensor_anatomy import zygote

    orders = 0
    take = zygote.Zygote._take_order

    def take_order(self: Any) -> bool:
        nonlocal orders
        orders += 1
        if orders == 2:
            self._jail = self._jail.with_broken(name)
        return take(self)

    zygote.Zygote._take_order = take_order  # type: ignore[method-assign]
    zygote.main()


def hanging(_: str) -> None:
    """A self-test that never ends."""
    from tensor_anatomy import zygote
    from tensor_anatomy.confinement import probes, trial

    probes.PROBES["read other files"] = lambda: time.sleep(600)
    zygote.try_once = lambda jail: trial.try_once(jail, limit_s=0.5)
    zygote.main()


def saying(text: str) -> None:
    """A zygote that says this of itself, and serves nothing."""
    control = socket.socket(fileno=int(sys.argv[1]))
    control.send(text.encode())
    control.recv(1)


def launching_without(names: str) -> None:
    """The launcher, on a machine that lacks these."""
    from tensor_anatomy import launch
    from tensor_anatomy.confinement import bubblewrap, choice, landlock, seccomp

    def missing(*_: Any, **__: Any) -> Any:
        raise OSError("not on this machine")

    for name in names.split("+"):
        match name:
            case "landlock":
                landlock.abi_of_kernel = missing
            case "libseccomp":
                seccomp._library = missing
            case "bubblewrap":
                bubblewrap.program = lambda: None
            case "namespaces":
                bubblewrap._NAMESPACES = ("--no-such-option",)  # type: ignore[assignment]
            case "python":
                choice._PYTHON = ("/nonexistent/python",)  # type: ignore[assignment]
    launch.main()


def abi_1(_: str) -> None:
    """A kernel whose Landlock is the first: no truncation, no network, no scopes."""
    from landlockpy import _syscall
    from tensor_anatomy import zygote

    _syscall.abi_version = lambda: 1
    zygote.main()


WEAKNESSES: dict[str, Callable[[str], None]] = {
    "without": without,
    "untried": untried,
    "failing": failing,
    "failing later": failing_later,
    "hanging": hanging,
    "saying": saying,
    "launching without": launching_without,
    "Landlock ABI 1": abi_1,
}


def ready(**changes: object) -> str:
    """What a zygote says that is ready, with changes."""
    layers = [
        "descriptors",
        "environment",
        "courtesy",
        "rlimits",
        "lifetime",
        "privileges",
        "landlock",
        "seccomp",
    ]
    said = {"ready": True, "torch": "2", "python": "3", "profile": "strict", "layers": layers, "warnings": []}
    return json.dumps({**said, **changes})


if __name__ == "__main__":
    kind, _, what = sys.argv[1].partition(": ")
    sys.argv[1:] = sys.argv[2:]
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    WEAKNESSES[kind](what)
