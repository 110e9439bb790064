"""Names of the ways to confine a program: shared by who chooses one and who puts it up.

What a layer does is in `app/confinement`; here are only the words in which the two processes speak of it.
"""

from typing import Literal

Profile = Literal["strict", "strict+bwrap", "sealed", "none"]
"""A set of layers that holds together.

strict: Landlock decides which files are read, seccomp which system calls are made.
strict+bwrap: the same, inside namespaces that bubblewrap made once around the zygote.
sealed: seccomp refuses every call that names a path; for kernels without Landlock.
none: no wall at all, only limits. The operator's explicit, loopback-only opt-out.
"""

ProfileChoice = Literal["auto", "strict", "strict+bwrap", "sealed", "none"]
"""What an operator may ask for. `auto` takes the strongest that holds here, never `none`."""

_ALWAYS = frozenset({"descriptors", "environment", "courtesy", "rlimits", "lifetime", "privileges"})

REQUIRED_LAYERS: dict[Profile, frozenset[str]] = {
    "strict": _ALWAYS | {"landlock", "seccomp"},
    "strict+bwrap": _ALWAYS | {"bubblewrap", "landlock", "seccomp"},
    "sealed": _ALWAYS | {"sealed seccomp"},
    "none": _ALWAYS,
}
"""Without these a profile is not what its name says, and the server refuses it."""
