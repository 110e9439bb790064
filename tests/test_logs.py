"""The server's log goes one way, as text or as JSON."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import logging, structlog
from tensor_anatomy.logs import configure
configure({form!r}, logging.INFO)
structlog.get_logger().warning("results are not kept", folder="somewhere")
logging.getLogger("uvicorn.error").info("started")
logging.getLogger("uvicorn.access").info("GET /?source=secret")
try:
    secret = "a reader's program"
    raise ValueError("fault")
except ValueError:
    logging.getLogger("asyncio").exception("what nobody expected")
"""


@pytest.fixture(params=["json", "text"])
def written(request):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(form=request.param)], capture_output=True, text=True, check=True
    )
    assert done.stdout == ""
    return request.param, done.stderr


def test_every_library_logs_the_same_way_and_no_request_or_variable_is_in_it(written):
    form, text = written
    assert "secret" not in text and "a reader's program" not in text.replace('secret = "', "")
    if form == "text":
        assert all(word in text for word in ("results are not kept", "started", "ValueError: fault"))
        return
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["event"] for line in lines] == ["results are not kept", "started", "what nobody expected"]
    assert [line["level"] for line in lines] == ["warning", "info", "error"]
    assert lines[0]["folder"] == "somewhere" and "ValueError: fault" in lines[2]["exception"]
    assert all("timestamp" in line for line in lines)
