"""`tensor-anatomy check`: a lesson that says something untrue is found, with its file and line."""

import os
import shutil
from pathlib import Path

import pytest
from tensor_anatomy import cli
from tensor_anatomy.lessons.catalog import BUILT_IN

LESSON = "pages/04-one-storage"


@pytest.fixture
def lessons(tmp_path) -> Path:
    """A copy of the built-in lesson alone."""
    folder = tmp_path / "lessons"
    shutil.copytree(BUILT_IN / LESSON, folder / LESSON)
    return folder


def line_with(path: Path, text: str) -> int:
    return next(n for n, line in enumerate(path.read_text().splitlines(), 1) if text in line)


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_the_built_in_lesson_holds(lessons, capsys):
    assert cli.main(["check", str(lessons)]) == 0
    assert "every program, question and statement holds" in capsys.readouterr().out


def test_every_fault_is_told_with_its_file_and_line(lessons, capsys):
    english = lessons / LESSON / "en.md"
    replace(english, "assert x.untyped_storage().nbytes() == 24", "assert x.untyped_storage().nbytes() == 25")
    for language in ("en", "zh"):
        page = lessons / LESSON / f"{language}.md"
        replace(page, "program: transpose\nkind: lamps\nline: 3", "program: transpose\nkind: lamps\nline: 99")
    replace(lessons / LESSON / "windows.py", "import torch\n", "import torch\nimport os\nos.abort()\n")

    assert cli.main(["check", str(lessons)]) == 1
    told = capsys.readouterr().out.splitlines()

    assert (
        f"{english}:{line_with(english, 'nbytes() == 25')}: AssertionError: a statement does not hold" in told
    )
    assert any(line.startswith(f"{english}:{line_with(english, '```question transpose')}: ") for line in told)
    assert any(line.startswith(f"{lessons / LESSON / 'windows.py'}:3: crashed: ") for line in told)


def test_a_recorded_trace_that_is_out_of_date_is_a_fault(lessons, capsys):
    recorded = lessons / "recorded"
    recorded.mkdir()
    for path in (BUILT_IN / "recorded").glob("one-storage.transpose.*.json"):
        text = path.read_text(encoding="utf-8")
        assert '"nbytes":24' in text
        (recorded / path.name).write_text(text.replace('"nbytes":24', '"nbytes":32'), encoding="utf-8")

    assert cli.main(["check", str(lessons)]) == 1
    assert "transpose.py:1: the recorded trace differs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("break_it", "words"),
    [
        (lambda folder: shutil.rmtree(folder / LESSON), "there is no lesson here"),
        (lambda folder: (folder / LESSON / "zh.md").unlink(), "zh.md:1: "),
        (lambda folder: (folder / LESSON / "slice.py").unlink(), "no program slice beside it"),
    ],
    ids=["empty", "one language", "no program"],
)
def test_a_folder_that_is_no_lesson_is_a_fault(lessons, capsys, break_it, words):
    break_it(lessons)

    assert cli.main(["check", str(lessons)]) == 1
    assert words in capsys.readouterr().out


def test_a_folder_that_is_not_there_is_bad_usage(capsys):
    assert cli.main(["check", f"no-such-folder-{os.getpid()}"]) == 2
    assert "is not a folder" in capsys.readouterr().err
