"""ROOT of the sandbox's launcher: chooses a profile by trying, then becomes the zygote in it.

A process of its own, because what it does cannot be undone or must not happen in its neighbours: it looks
for libseccomp, forks, and puts bubblewrap around what comes next. It never loads torch, the tracer or the
web. Where no profile holds it says so on the control socket, and there is no zygote.
"""

import argparse
import json
import os
import socket
import sys
from typing import get_args

from .confinement.choice import choose, command
from .confinement.jail import NotConfined
from .profiles import ProfileChoice

EXIT_NOT_CONFINED = 71


def main() -> int:
    """Choose, then execute the zygote in place of this process."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("control", type=int, help="descriptor of the socket to the server")
    parser.add_argument("--profile", choices=(*get_args(ProfileChoice), "cuda"), default="auto")
    options = parser.parse_args()
    try:
        chosen = choose(options.profile)
        words = command(chosen, f"{__package__}.zygote", [str(options.control)])
        os.execv(words[0], words)
    except NotConfined as fault:
        reason = fault.fault
    except Exception as fault:  # whatever it is, no program is run
        reason = f"{type(fault).__name__}: {fault}"
    socket.socket(fileno=options.control).send(json.dumps({"ready": False, "reason": reason}).encode())
    return EXIT_NOT_CONFINED


if __name__ == "__main__":
    sys.exit(main())
