"""The server that is attacked: the real one, on loopback, with short limits. Started by `places`.

    python -m tests.attacks.serve PORT PROFILE [WEAKNESS]

With a weakness the sandbox is the one of `weakened`, and what would notice it at the start is switched off
by replacing it in this process: no setting of the product does that.
"""

import os
import sys

import uvicorn
from tensor_anatomy.execution import zygote_client
from tensor_anatomy.main import create_app
from tensor_anatomy.settings import Settings

from .. import weakened

WALL_S = 1.5
SANDBOXES = 3


def main() -> None:
    port, profile, *weakness = sys.argv[1:]
    if weakness:
        zygote_client.ZygoteClient.__init__.__kwdefaults__["command"] = weakened.command(weakness[0])

        async def believe(_spawn: object, *, cuda: bool) -> None:
            return

        zygote_client.prove = believe
    settings = Settings.from_env(
        {
            "WALL_SECONDS": str(WALL_S),
            "CPU_SECONDS": "4",
            "SANDBOX": profile,
            "SANDBOXES": str(SANDBOXES),
            "QUEUE": "8",
            "COMPARE": os.environ.get("COMPARE", "0"),
            "CACHE": "off",
            "REQUIRE_SANDBOX": "1",
        }
    )
    uvicorn.run(create_app(settings), host="127.0.0.1", port=int(port), log_level="warning")


if __name__ == "__main__":
    main()
