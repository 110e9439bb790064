"""Locks a process in before it looks at a stranger's program: one module per layer.

`choose` finds the strongest profile that holds on this machine, `build` makes its jail,
`try_once` proves it, `Jail.enter` confines a child for good. Nothing here knows torch, the
web, or what a program is.
"""

from .jail import Jail, NotConfined, build
from .layers import Confinee, Layer
from .trial import try_once

__all__ = ["Confinee", "Jail", "Layer", "NotConfined", "build", "try_once"]
