"""Names of the ways to confine a program: shared by who chooses one and who puts it up.

What a layer does is in `app/confinement`; here are only the words in which the two processes speak of it.
"""

from typing import Literal

Profile = Literal["strict", "strict+bwrap", "sealed", "cuda", "cuda+bwrap", "none"]
"""A set of layers that holds together.

strict: Landlock decides which files are read, seccomp which system calls are made.
strict+bwrap: the same, inside namespaces that bubblewrap made once around the zygote.
sealed: seccomp refuses every call that names a path; for kernels without Landlock.
cuda, cuda+bwrap: as strict, with three walls loosened so that a program reaches the driver of a GPU. Only
for programs that use one, and only where the operator asked for that (`serve --device cuda`).
none: no wall at all, only limits. The operator's explicit, loopback-only opt-out.
"""

ProfileChoice = Literal["auto", "strict", "strict+bwrap", "sealed", "none"]
"""What an operator may ask for. `auto` takes the strongest that holds here, never `none` and never one that
leads to a GPU."""

AskedProfile = ProfileChoice | Literal["cuda"]
"""What a sandbox may be asked for: `cuda` takes the stronger of those that lead to a GPU."""

_ALWAYS = frozenset({"descriptors", "environment", "courtesy", "rlimits", "lifetime", "privileges"})

LOOSENED_FOR_CUDA = {
    "rlimits": "rlimits for cuda",
    "landlock": "landlock for cuda",
    "seccomp": "seccomp for cuda",
}
"""Layers that let through what CUDA needs, each with its name then."""

_CUDA = (_ALWAYS | {"landlock", "seccomp"}) - set(LOOSENED_FOR_CUDA) | set(LOOSENED_FOR_CUDA.values())

REQUIRED_LAYERS: dict[Profile, frozenset[str]] = {
    "strict": _ALWAYS | {"landlock", "seccomp"},
    "strict+bwrap": _ALWAYS | {"bubblewrap", "landlock", "seccomp"},
    "sealed": _ALWAYS | {"sealed seccomp"},
    "cuda": _CUDA,
    "cuda+bwrap": _CUDA | {"bubblewrap"},
    "none": _ALWAYS,
}
"""Without these a profile is not what its name says, and the server refuses it."""


def leads_to_a_gpu(profile: Profile) -> bool:
    """Programs may use a real CUDA device."""
    return profile in ("cuda", "cuda+bwrap")


def serves(asked: AskedProfile, profile: Profile) -> bool:
    """Whether a profile is one of those that were asked for."""
    if asked == "cuda" or leads_to_a_gpu(profile):
        return asked == "cuda" and leads_to_a_gpu(profile)
    if asked == "auto":
        return profile != "none"
    return asked == profile
