"""The wheel, installed in an environment of its own and used beside a reader's own `app.py`.

The environment is new, but borrows the installed dependencies through a .pth file: what is tested is
our wheel, not an hour of downloads. A .pth inside a borrowed folder is not read, so the editable
install of this checkout stays out.
"""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import sysconfig
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps", "--no-index"]
    subprocess.run([*build, "--wheel-dir", str(folder), str(ROOT)], check=True, capture_output=True)
    (path,) = folder.glob("tensor_anatomy-*.whl")
    return path


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin/` of an environment that holds the wheel."""
    venv = tmp_path_factory.mktemp("clean") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    python = venv / "bin" / "python"
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "-q",
        "--no-deps",
        "--no-index",
    ]
    subprocess.run([*install, str(wheel)], check=True, capture_output=True)
    site = next((venv / "lib").glob("python*/site-packages"))
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return venv / "bin"


@pytest.fixture
def readers_folder(tmp_path: Path) -> Path:
    """A reader's project, which has an `app.py` and a `static` folder of its own."""
    (tmp_path / "app.py").write_text("WHOSE = 'the reader'\n")
    (tmp_path / "static").mkdir()
    (tmp_path / "templates").mkdir()
    return tmp_path


def run(command: list[str | Path], cwd: Path, **options: str) -> subprocess.CompletedProcess[str]:
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=env,
        text=True,
        capture_output=True,
        timeout=120,
        **options,
    )


def test_the_wheel_carries_templates_the_built_front_end_lessons_and_sentences(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())

    wanted = {
        "static/dist": {f"tensor_anatomy/static/dist/{name}" for name in json.loads(manifest())},
        "templates": {f"tensor_anatomy/{path.relative_to(ROOT)}" for path in files(ROOT / "templates")},
    }
    for folder in ("pages", "examples", "recorded"):
        found = files(ROOT / "app" / "lessons" / folder)
        wanted[folder] = {f"tensor_anatomy/{path.relative_to(ROOT / 'app')}" for path in found}
    for what, paths in wanted.items():
        assert paths, what
        assert paths - names == set(), what
    assert "tensor_anatomy/static/dist/fonts/inter.woff2" in names
    assert {f"tensor_anatomy/messages/{language}.json" for language in ("en", "zh")} <= names
    assert "tensor_anatomy/schema/trace.schema.json" in names


def test_the_wheel_has_every_module_and_nothing_of_the_workshop(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()

    modules = {f"tensor_anatomy/{path.relative_to(ROOT / 'app')}" for path in (ROOT / "app").rglob("*.py")}
    assert modules <= set(names)
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"tensor_anatomy"}
    assert not [name for name in names if name.endswith((".ts", ".pyc")) or "node_modules" in name]


def test_a_readers_own_app_module_is_not_shadowed(environment: Path, readers_folder: Path) -> None:
    code = (
        "import app, tensor_anatomy, tensor_anatomy.main, tensor_anatomy.cli\n"
        "from tensor_anatomy.resources import resource\n"
        "print(app.WHOSE, tensor_anatomy.__file__, resource('static'), resource('templates'), sep='\\n')"
    )

    answer = run([environment / "python", "-c", code], readers_folder)

    assert answer.returncode == 0, answer.stderr
    whose, module, static, templates = answer.stdout.splitlines()
    assert whose == "the reader"
    package = Path(module).parent
    assert package.is_relative_to(environment.parent)
    assert (Path(static), Path(templates)) == (package / "static", package / "templates")
    assert (Path(static) / "dist" / "manifest.json").is_file()


def test_the_command_is_installed_and_lists_what_it_does(environment: Path, readers_folder: Path) -> None:
    answer = run([environment / "tensor-anatomy", "--help"], readers_folder)

    assert answer.returncode == 0, answer.stderr
    assert all(word in answer.stdout for word in ("serve", "trace", "check"))


def test_the_installed_command_traces_a_program(environment: Path, readers_folder: Path) -> None:
    command: list[str | Path] = [environment / "tensor-anatomy", "trace", "-", "--format", "state"]
    program = "import torch\nx = torch.arange(6.).reshape(2, 3)\ny = x.t()\n"

    answer = run(command, readers_folder, input=program)

    assert answer.returncode == 0, answer.stderr
    state = json.loads(answer.stdout)
    x, y = (state["tensors"][str(state["bindings"][name])] for name in "xy")
    assert x["storage"] == y["storage"]
    assert y["stride"] == [1, 3]


@pytest.fixture
def served(environment: Path, readers_folder: Path) -> Iterator[int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [environment / "tensor-anatomy", "serve", "--host", "127.0.0.1", "--port", str(port)]
    server = subprocess.Popen(
        [str(part) for part in command],
        cwd=readers_folder,
        env={**os.environ, "CACHE": "off"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until_open(port, server)
        yield port
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(timeout=20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def test_the_installed_server_shows_its_pages_with_style_and_script(served: int) -> None:
    status, page = get(served, "/playground")
    assert status == 200

    assert "/static/" in page
    for path in sorted(set(linked(page))):
        assert (get(served, path)[0], path) == (200, path)


def wait_until_open(port: int, server: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert server.poll() is None, "the server ended before it answered"
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the server did not open its port within a minute")


def get(port: int, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode("utf-8", "replace")
    finally:
        connection.close()


def linked(page: str) -> Iterator[str]:
    for part in page.split('"')[1::2]:
        if part.startswith("/static/"):
            yield part


def manifest() -> str:
    return (ROOT / "static" / "dist" / "manifest.json").read_text()


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
