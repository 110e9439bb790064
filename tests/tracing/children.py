"""Runs a piece of a test in a forked child: programs change global state of torch and may crash."""

import json
import os
import signal
from collections.abc import Callable
from typing import Any


def in_child(work: Callable[[], Any], seconds: int = 60) -> Any:
    """The JSON-able result of `work`, run in a forked child.

    Raises:
        AssertionError: It raised, died, or took too long.
    """
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        signal.alarm(seconds)
        try:
            answer = {"result": work()}
        except BaseException as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        payload = json.dumps(answer).encode()
        while payload:
            payload = payload[os.write(write_end, payload) :]
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        answer_bytes = pipe.read()
    _, status = os.waitpid(child, 0)
    assert answer_bytes, f"the child died: {os.waitstatus_to_exitcode(status)}"
    answer = json.loads(answer_bytes)
    assert "error" not in answer, answer["error"]
    return answer["result"]
