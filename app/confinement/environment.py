"""Empties the environment that the program can read.

The zygote's own environment is an allow-list already; this layer takes away the
rest, so that a program cannot learn how the server was set up. It does not stop
reads of /proc: `landlock` and `privileges` do.
"""

import os
from dataclasses import dataclass

from .layers import Confinee

OF_CUDA = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_CACHE_DISABLE", "CUDA_MODULE_LOADING")
"""What the driver's library reads when a context is made, in the child."""


@dataclass(frozen=True)
class EmptyEnvironment:
    """Only what libraries need in order not to write to a home or a cache."""

    inductor_cache: str
    """An existing directory: torch._inductor makes its cache directory at first use of an
    optimizer, and a refused mkdir would fail a program that never asked for a compiler."""

    cuda: bool = False
    """The variables that say which devices there are, and that nothing is to be written, stay."""

    name = "environment"

    def enter(self, child: Confinee) -> None:
        """Replace every variable, unless the parent did."""
        self.replace()

    def replace(self) -> None:
        """Replace every variable of this process. In the zygote it saves each child a millisecond."""
        wanted = {
            "PATH": "/nonexistent",
            "HOME": "/nonexistent",
            "LANG": "C.UTF-8",
            "TORCHINDUCTOR_CACHE_DIR": self.inductor_cache,
        }
        if self.cuda:
            wanted.update({name: os.environ[name] for name in OF_CUDA if name in os.environ})
        if dict(os.environ) != wanted:
            os.environ.clear()
            os.environ.update(wanted)
