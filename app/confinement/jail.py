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

from ..profiles import REQUIRED_LAYERS, Profile, leads_to_a_gpu
from . import identity, landlock, seccomp
from .courtesy import Courtesy
from .descriptors import OwnDescriptors
from .environment import EmptyEnvironment
from .gpu import RlimitsWithoutAddressSpace
from .layers import Confinee, Layer
from .lifetime import DiesWithZygote
from .privileges import NoNewPrivileges
from .rlimits import Rlimits

PACKAGE = str(Path(__file__).resolve().parent.parent)
"""Our own code, which a child reads for late imports."""

OUTER = frozenset({"bubblewrap"})
"""Layers that stand around the zygote already; a child does not enter them."""

Built = TypeVar("Built")


class NotConfined(Exception):
    """A layer could not be applied; nothing of a program has run."""

    def __init__(self, layer: str, fault: str) -> None:
        super().__init__(f"the layer '{layer}' could not be applied: {fault}")
        self.layer = layer
        self.fault = fault


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

    profile: Profile

    layers: tuple[Layer, ...]

    warnings: tuple[str, ...]
    """What the operator should know, in sentences."""

    environment: EmptyEnvironment
    """The layer that may be entered in the zygote already; each child enters it again."""

    @property
    def names(self) -> tuple[str, ...]:
        """The layers' names, those around the zygote first."""
        outer = sorted(OUTER & REQUIRED_LAYERS[self.profile])
        return (*outer, *(layer.name for layer in self.layers))

    def enter(self, child: Confinee) -> None:
        """Confine the calling process for good.

        Raises:
            NotConfined: A layer failed or is missing. The caller must end the process at once.
        """
        missing = REQUIRED_LAYERS[self.profile] - set(self.names)
        if missing:
            raise NotConfined(min(missing), f"the profile {self.profile!r} needs it and it was not built")
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


def build(profile: Profile, must_stay_readable: Sequence[str], *, compiled: bytes | None = None) -> Jail:
    """Build the jail of this profile.

    Args:
        profile: Which layers.
        must_stay_readable: Files of the interpreter and its libraries, to choose a uid by.
        compiled: The filter, where another process compiled it before a jail of its own; else it is
            compiled here.

    Raises:
        NotConfined: A layer is missing here, so no program may be run.
    """
    files = calls = None
    sealed = profile == "sealed"
    cuda = leads_to_a_gpu(profile)
    if cuda or profile in ("strict", "strict+bwrap"):
        files = building("landlock", lambda: landlock.build([PACKAGE], cuda=cuda))
    if profile != "none":
        abi = 0 if files is None else files.abi
        calls = building("seccomp", lambda: _filter(compiled, sealed=sealed, landlock_abi=abi, cuda=cuda))
    who, warning = identity.choose(must_stay_readable)
    environment = EmptyEnvironment(inductor_cache=PACKAGE, cuda=cuda)
    wanted: tuple[Layer | None, ...] = (
        OwnDescriptors(spared=None if files is None else files.ruleset.fileno()),
        environment,
        Courtesy(),
        RlimitsWithoutAddressSpace() if cuda else Rlimits(),
        who,
        DiesWithZygote(),
        NoNewPrivileges(),
        files,
        calls,
    )
    return Jail(
        profile=profile,
        layers=tuple(layer for layer in wanted if layer is not None),
        warnings=(warning,) if warning else (),
        environment=environment,
    )


def building(name: str, build_layer: Callable[[], Built]) -> Built:
    """What `build_layer` gives.

    Raises:
        NotConfined: It failed; named after the layer.
    """
    try:
        return build_layer()
    except (OSError, ValueError) as fault:
        raise NotConfined(name, str(fault)) from fault


def _filter(
    compiled: bytes | None, *, sealed: bool, landlock_abi: int, cuda: bool
) -> seccomp.SyscallAllowList:
    if compiled is None:
        return seccomp.build(sealed=sealed, landlock_abi=landlock_abi, cuda=cuda)
    return seccomp.of(compiled, seccomp.name_of(sealed=sealed, cuda=cuda))
