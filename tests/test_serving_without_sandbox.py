"""What a whole server does where programs cannot be confined, and where its operator wants no sandbox."""

import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from tensor_anatomy.errors import SandboxUnavailable
from tensor_anatomy.execution.zygote_client import ZygoteClient
from tensor_anatomy.main import create_app
from tensor_anatomy.settings import Settings

from .weakened import command

PROGRAM = {"source": "import os\nos.write(1, b'it ran')\n"}
UNSAFE = "TENSOR_ANATOMY_UNSAFE_NO_SANDBOX"
HTML = {"accept": "text/html"}


@pytest.fixture
def no_walls(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without libseccomp."""
    told = {**ZygoteClient.__init__.__kwdefaults__, "command": command("launching without: libseccomp")}
    monkeypatch.setattr(ZygoteClient.__init__, "__kwdefaults__", told)


async def test_lessons_are_served_and_run_is_off_everywhere(no_walls: None) -> None:
    app = create_app(Settings(cache=None))
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://anatomy.example") as client:
            health = (await client.get("/healthz")).json()
            assert (health["status"], health["sandbox"]) == ("no-sandbox", {"profile": None, "layers": []})
            assert "seccomp" in health["reason"]
            for accept in ("application/json", "application/x-ndjson"):
                answer = await client.post("/api/trace", json=PROGRAM, headers={"accept": accept})
                assert (answer.status_code, answer.json()["code"]) == (503, "sandbox-unavailable")
            for path in ("/", "/lessons", "/playground", "/about"):
                page = await client.get(path, headers=HTML)
                assert page.status_code == 200
                assert "Run is switched off" in page.text
                assert "trace FILE --local" in page.text
            assert "container" in page.text


async def test_a_server_that_must_have_a_sandbox_does_not_start(no_walls: None) -> None:
    app = create_app(Settings(cache=None, require_sandbox=True))
    with pytest.raises(SandboxUnavailable, match="seccomp"):
        async with app.router.lifespan_context(app):
            pass


@pytest.mark.slow
async def test_the_opt_out_runs_one_program_at_a_time_and_says_what_it_is() -> None:
    app = create_app(Settings(cache=None, unsafe_no_sandbox=True, sandboxes=8))
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=30) as client:
            health = (await client.get("/healthz")).json()
            assert (health["status"], health["sandbox"]["profile"]) == ("unsafe", "none")
            assert health["queue"]["sandboxes"] == 1
            assert not {"landlock", "seccomp"} & set(health["sandbox"]["layers"])
            answer = (await client.post("/api/trace", json={"source": "x = 1"})).json()
            assert answer["outcome"]["kind"] == "finished"
            endless = (await client.post("/api/trace", json={"source": "x = bytearray(2 << 30)"})).json()
            assert endless["outcome"]["reason"] == "memory-limit"


@pytest.mark.parametrize(
    ("arguments", "variables", "words"),
    [
        (["--host", "0.0.0.0"], {UNSAFE: "i-trust-every-user"}, "this machine alone"),
        ([], {UNSAFE: "i-trust-every-user", "HOST": "::"}, "this machine alone"),
        (["--require-sandbox"], {UNSAFE: "i-trust-every-user"}, "contradict"),
        ([], {UNSAFE: "yes"}, "only the words"),
        ([], {"SANDBOX": "none"}, "must be one of"),
    ],
)
def test_the_command_line_refuses(arguments: list[str], variables: dict[str, str], words: str) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "tensor_anatomy.cli", "serve", "--port", "1", *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert answer.returncode == 2
    assert words in answer.stderr
    assert "Traceback" not in answer.stderr


def test_the_image_never_opts_out() -> None:
    dockerfile = (Path(__file__).resolve().parent.parent / "Dockerfile").read_text()
    assert "UNSAFE" not in dockerfile
    assert "--require-sandbox" in dockerfile
