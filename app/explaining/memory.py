"""Why there was not enough memory: which limit was met, and what of the reader's is on a device that is full.

What an allocator said of itself is in the trace; how a limit is worded is in `endings`.
"""

import re

from .advice import Advice
from .endings import limit_of
from .failure import FailedCall

_DEVICE_IS_FULL = re.compile(
    r"CUDA out of memory.* GPU (\d+) has a total capacity of ([\d.]+) (bytes|[KMGT]iB) of which"
)
_BINARY = {"bytes": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}
_MOST_HOLDERS = 3


def out_of_memory(call: FailedCall) -> Advice:
    """The limit that was met, or the device that is full."""
    full = _DEVICE_IS_FULL.search(call.outcome.message or "")
    if full is not None:
        return _full_device(call, f"cuda:{full[1]}", round(float(full[2]) * 2 ** _BINARY[full[3]]))
    return Advice(None, (), {"limit": limit_of(call.outcome.limit)["amount"] or "none", "device": "none"})


def _full_device(call: FailedCall, device: str, capacity: int) -> Advice:
    """What of the reader's is on the device, the largest first."""
    chronicle, moment = call.chronicle, call.moment
    largest: dict[int, tuple[int, str]] = {}
    for name, tensor in (chronicle.bindings(0, moment) | chronicle.bindings(call.frame, moment)).items():
        storage, view = chronicle.memory(tensor, moment), call.view(tensor)
        if storage is not None and view is not None and view.device == device:
            largest.setdefault(storage, (chronicle.nbytes(storage, moment), name))
    holders = [name for _, name in sorted(largest.values(), key=lambda each: -each[0])]
    args = {"limit": "none", "device": device, "capacity": capacity, "holders": holders[:_MOST_HOLDERS]}
    return Advice(None, (), args)
