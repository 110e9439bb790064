"""A real server on loopback with lowered limits, for requests made from the API's own description.

python -m tests.fuzzing.serving PORT
"""

import sys

import uvicorn
from tensor_anatomy.main import create_app
from tensor_anatomy.settings import Settings

SOURCE_BYTES = 2_000


def main() -> None:
    """Serve until it is ended."""
    settings = Settings.from_env(
        {
            "WALL_SECONDS": "1",
            "CPU_SECONDS": "1",
            "SOURCE_BYTES": str(SOURCE_BYTES),
            "STATEMENTS": "20000",
            "SANDBOXES": "1",
            "QUEUE": "2",
            "COMPARE": "0",
            "CACHE": "off",
            "BODY_SECONDS": "3",
            "REQUIRE_SANDBOX": "1",
        }
    )
    uvicorn.run(create_app(settings), host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")


if __name__ == "__main__":
    main()
