"""All layers in their order, built once in the zygote and entered by each child.

The order matters: descriptors while they can still be moved; limits while they
can still be set; the uid before PDEATHSIG, which a change of uid clears;
no-new-privileges before Landlock and seccomp, which demand it; seccomp last,
because it refuses what the others need.

There is no way to enter part of a jail. A layer that raises raises `NotConfined`,
and the zygote's child ends there, before it has looked at the program.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from . import identity, landlock, seccomp
from .descriptors import OwnDescriptors
from .environment import EmptyEnvironment
from .layers import Confinee, Layer
from .privileges import NoNewPrivileges
from .rlimits import Rlimits

PACKAGE = str(Path(__file__).resolve().parent.parent)
"""Our own code, which a child reads for late imports."""


Built = TypeVar("Built")


class NotConfined(Exception):
    """A layer could not be applied; nothing of a program has run."""

    def __init__(self, layer: str, fault: str) -> None:
        super().__init__(f"the layer '{layer}' could not be applied: {fault}")
        self.layer = layer


@dataclass(frozen=True)
class Broken:
    """A layer that always fails: shows in tests that a jail never opens by failing."""

    name: str

    def enter(self, child: Confinee) -> None:
        """Raise."""
        raise OSError("broken on purpose")


@dataclass(frozen=True)
class Jail:
    """Every layer, outermost first."""

    layers: tuple[Layer, ...]

    warnings: tuple[str, ...]
    """What the operator should know, in sentences."""

    environment: EmptyEnvironment
    """The layer that may be entered in the zygote already; each child enters it again."""

    def enter(self, child: Confinee) -> None:
        """Confine the calling process for good.

        Raises:
            NotConfined: A layer failed. The caller must end the process at once.
        """
        for layer in self.layers:
            try:
                layer.enter(child)
            except BaseException as fault:
                raise NotConfined(layer.name, str(fault)) from fault

    def with_broken(self, name: str) -> "Jail":
        """The same jail with one layer that always fails."""
        if name not in {layer.name for layer in self.layers}:
            raise KeyError(name)
        changed = (Broken(name) if layer.name == name else layer for layer in self.layers)
        return replace(self, layers=tuple(changed))


def build(must_stay_readable: Sequence[str]) -> Jail:
    """Build the jail that this machine can give.

    Args:
        must_stay_readable: Files of the interpreter and its libraries, to choose a uid by.

    Raises:
        NotConfined: A layer is missing here, so no program may be run.
    """
    files = _building("landlock", lambda: landlock.build([PACKAGE]))
    calls = _building("seccomp", seccomp.build)
    who, warning = identity.choose(must_stay_readable)
    environment = EmptyEnvironment(inductor_cache=PACKAGE)
    return Jail(
        layers=(
            OwnDescriptors(spared=files.ruleset.fileno()),
            environment,
            Rlimits(),
            who,
            NoNewPrivileges(),
            files,
            calls,
        ),
        warnings=(warning,) if warning else (),
        environment=environment,
    )


def _building(name: str, build_layer: Callable[[], Built]) -> Built:
    try:
        return build_layer()
    except (OSError, ValueError) as fault:
        raise NotConfined(name, str(fault)) from fault
