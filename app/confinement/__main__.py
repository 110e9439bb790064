"""ROOT of the self-test: enters a profile's jail once and says whether it holds.

Started by `choice`, below whatever wall stands around a zygote.
"""

import argparse
import json
import os
import sys
from importlib.util import find_spec

from .jail import NotConfined, build
from .trial import try_once


def must_stay_readable() -> list[str]:
    """Files that a program's late imports may need, of every place that packages lie in."""
    found = [find_spec(name) for name in ("torch", "numpy", __name__.partition(".")[0])]
    return [os.__file__, *(spec.origin for spec in found if spec is not None and spec.origin)]


def arguments_of_a_profile(parser: argparse.ArgumentParser) -> None:
    """Which jail, as `choice.command` says it."""
    parser.add_argument("--profile", required=True, help="which set of layers")
    parser.add_argument("--filter", type=int, help="descriptor of the compiled filter; read once")


def compiled_filter(descriptor: int | None) -> bytes | None:
    """The filter that the descriptor holds, which is not closed: it is inherited more than once."""
    if descriptor is None:
        return None
    return os.pread(descriptor, 1 << 20, 0)


def main() -> int:
    """Try it; the answer is one line of JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments_of_a_profile(parser)
    options = parser.parse_args()
    try:
        try_once(build(options.profile, must_stay_readable(), compiled=compiled_filter(options.filter)))
    except NotConfined as fault:
        print(json.dumps({"layer": fault.layer, "fault": str(fault.__cause__ or fault)}))
        return 1
    print(json.dumps({"held": True}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
