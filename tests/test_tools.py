"""The set-up's own logic: what makes a step run again, which Node.js and which browser are taken."""

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).resolve().parent.parent / "tools"


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(TOOLS))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if (
            getattr(sys.modules[name], "__file__", None)
            and Path(str(sys.modules[name].__file__)).parent == TOOLS
        ):
            del sys.modules[name]


@pytest.fixture
def stamp(tools: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = importlib.import_module("stamp")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return module


def test_a_step_runs_again_when_a_content_a_name_or_an_option_changed(
    stamp: ModuleType, tmp_path: Path
) -> None:
    source = tmp_path / "src"
    source.mkdir()
    (source / "a.ts").write_text("1")
    first = stamp.digest([source])

    (source / "a.ts").write_text("2")
    content = stamp.digest([source])
    (source / "a.ts").rename(source / "b.ts")
    name = stamp.digest([source])
    option = stamp.digest([source], "option")

    assert len({first, content, name, option}) == 4


def test_a_new_time_alone_runs_nothing_again(stamp: ModuleType, tmp_path: Path) -> None:
    source = tmp_path / "a.ts"
    source.write_text("1")
    before = stamp.digest([source])

    os.utime(source, (0, 0))

    assert stamp.digest([source]) == before


def test_a_step_that_never_ended_is_not_current(stamp: ModuleType, tmp_path: Path) -> None:
    mark = tmp_path / ".stamp"

    assert not stamp.is_current(mark, "key")
    stamp.mark(mark, "key")
    assert stamp.is_current(mark, "key")
    assert not stamp.is_current(mark, "another key")


def fake(folder: Path, name: str, prints: str, status: int = 0) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{prints}'\nexit {status}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("version", "taken"),
    [("v22.1.0", "path"), ("v20.0.0", "path"), ("v18.20.4", "package"), ("", "package")],
    ids=["newer", "oldest", "too old", "silent"],
)
def test_node_comes_from_path_when_it_is_new_enough_else_from_its_package(
    version: str, taken: str, tools: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = importlib.import_module("node")
    on_path = fake(tmp_path, "node", version)
    fake(tmp_path, "npm", "11")
    packaged = node.Node("packaged", ("npm",), {})
    monkeypatch.setattr(node, "_packaged", lambda: packaged)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")

    assert node.find().node == {"path": str(on_path), "package": "packaged"}[taken]


@pytest.fixture
def browser(tools: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = importlib.import_module("browser")
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(module, "_playwrights", lambda: None)
    return module


def test_a_browser_that_does_not_start_is_passed_over(
    browser: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    fake(tmp_path, "chromium", "install the snap", status=1)
    chrome = fake(tmp_path, "google-chrome", "Google Chrome 150")

    assert browser.find() == str(chrome)


@pytest.mark.parametrize(("ci", "status"), [("1", 1), ("", 0)], ids=["CI", "at home"])
def test_without_a_browser_ci_fails_and_a_reader_is_told_what_to_run(
    ci: str,
    status: int,
    browser: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(browser, "install", lambda: None)

    assert browser.main() == status

    output = capsys.readouterr()
    assert output.out == ""
    assert "apt-get install -y chromium" in output.err
