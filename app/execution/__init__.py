"""Runs a program in the sandbox, from the server's side. Never imports torch or the web.

`Pool` is all that others need: it holds the slots, owns the limits, and turns what
a child sends into a `Trace`. What comes from a child is input, not truth.
"""

from .fleet import Fleet
from .once import trace_once
from .pool import Pool, PoolStatus
from .turns import Turns
from .zygote_client import ZygoteClient

__all__ = ["Fleet", "Pool", "PoolStatus", "Turns", "ZygoteClient", "trace_once"]
