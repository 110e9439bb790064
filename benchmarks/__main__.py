"""Runs the benchmarks that were asked for, one after the other, and prints what they found."""

import argparse
import importlib
import os
import platform
import sys
import time
import traceback
from types import ModuleType

from .report import line_of

MODULES = {
    "T1": "t1_answer",
    "T2": "t2_overhead",
    "T3": "t3_unit_costs",
    "T4": "t4_large_tensor",
    "T5": "t5_load",
    "T6": "t6_player",
    "T7": "t7_weight",
    "LAYERS": "layers",
    "LOAD": "load",
    "TABLE": "table",
}

ON_REQUEST = {"ENDURANCE": "endurance"}
"""What takes many minutes."""

_TARGETS = f"any of {', '.join(MODULES)}; else all of these. On request: {', '.join(ON_REQUEST)}"


def main() -> int:
    """Measure; 1 when a measurement failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").strip())
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=_TARGETS)
    parser.add_argument("--list", action="store_true", help="say what they are")
    options = parser.parse_args()
    wanted = [target.upper() for target in options.targets] or list(MODULES)
    if unknown := [target for target in wanted if target not in {**MODULES, **ON_REQUEST}]:
        parser.error(f"unknown: {', '.join(unknown)}")
    if options.list:
        for target in wanted if options.targets else [*MODULES, *ON_REQUEST]:
            print(f"{target}  {_module(target).TITLE}")
        return 0
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}")
    return max([_measured(target) for target in wanted])


def _measured(target: str) -> int:
    module = _module(target)
    print(f"\n{target}  {module.TITLE}  (load {os.getloadavg()[0]:.1f})", flush=True)
    began = time.perf_counter()
    try:
        for figure in module.measure():
            print(line_of(figure), flush=True)
    except Exception:
        traceback.print_exc()
        return 1
    print(f"  took {time.perf_counter() - began:.0f} s, load now {os.getloadavg()[0]:.1f}", flush=True)
    return 0


def _module(target: str) -> ModuleType:
    return importlib.import_module(f"{__package__}.{({**MODULES, **ON_REQUEST})[target]}")


if __name__ == "__main__":
    sys.exit(main())
