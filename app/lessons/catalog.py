"""All lessons and examples of a folder, read once when the server starts.

    pages/NN-slug/en.md, zh.md, *.py     a lesson: NN orders them, each program is written once
    examples/examples.yaml, *.py         programs for the playground
    examples/pairs.yaml                  pairs of programs that it offers to compare
    recorded/*.json                      traces, written by `make record`

It does not run anything: what a program did is in its recorded trace.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from ..messages import LANGUAGES, Language
from .markdown import Check, LessonInvalid, Player, Text, read_lesson
from .programs import Program, Recordings
from .questions import Question

EXAMPLES = "examples"
PAIRS = "pairs"
BUILT_IN = Path(__file__).resolve().parent
_FOLDER = re.compile(r"(\d+)-([a-z0-9-]+)")


@dataclass(frozen=True)
class Lesson:
    """A lesson in every language, with its programs."""

    slug: str
    texts: dict[Language, Text]
    programs: dict[str, Program]

    def questions(self, language: Language) -> dict[str, Question]:
        """Its questions by id."""
        return {block.id: block for block in self.texts[language].blocks if isinstance(block, Question)}

    @property
    def checks(self) -> tuple[Check, ...]:
        """What must hold after its programs. They are in the English text only."""
        return tuple(block for block in self.texts["en"].blocks if isinstance(block, Check))


@dataclass(frozen=True)
class Example:
    """A program for the playground."""

    program: Program
    titles: dict[Language, str]


@dataclass(frozen=True)
class ProgramPair:
    """Two programs that show one difference."""

    id: str
    titles: dict[Language, str]
    left: Program
    right: Program


@dataclass(frozen=True)
class Catalog:
    """What there is to read, in order."""

    lessons: tuple[Lesson, ...]
    examples: tuple[Example, ...]
    pairs: tuple[ProgramPair, ...]
    recordings: Recordings

    def lesson(self, slug: str) -> Lesson | None:
        """The lesson of that slug."""
        return next((lesson for lesson in self.lessons if lesson.slug == slug), None)

    def program(self, key: str) -> Program | None:
        """The program of that key, as in `one-storage.transpose`."""
        return next((program for program in self.programs() if program.key == key), None)

    def recorded(self, file_name: str) -> Program | None:
        """The program whose trace has that file name."""
        return next((program for program in self.programs() if program.file_name == file_name), None)

    def programs(self) -> Iterator[Program]:
        """Every program whose trace is recorded."""
        for lesson in self.lessons:
            yield from lesson.programs.values()
        for example in self.examples:
            yield example.program
        for pair in self.pairs:
            yield from (pair.left, pair.right)


def load(folder: Path = BUILT_IN) -> Catalog:
    """Read a folder of lessons.

    Raises:
        LessonInvalid: A lesson is not as it must be; the message names the file.
    """
    pages = sorted((folder / "pages").iterdir()) if (folder / "pages").is_dir() else []
    return Catalog(
        lessons=tuple(_lesson(page) for page in pages if _FOLDER.fullmatch(page.name)),
        examples=_examples(folder / EXAMPLES),
        pairs=_pairs(folder / EXAMPLES / "pairs.yaml"),
        recordings=Recordings(folder / "recorded"),
    )


def _lesson(folder: Path) -> Lesson:
    match = _FOLDER.fullmatch(folder.name)
    slug = match.group(2) if match else folder.name
    programs = {
        path.stem: Program(slug, path.stem, path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("*.py"))
    }
    texts: dict[Language, Text] = {}
    for language in LANGUAGES:
        path = folder / f"{language}.md"
        try:
            texts[language] = read_lesson(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as e:
            raise LessonInvalid(f"{path}: {e}") from e
        _programs_exist(path, texts[language], programs)
    return Lesson(slug, texts, programs)


def _programs_exist(path: Path, text: Text, programs: dict[str, Program]) -> None:
    named = {block.program for block in text.blocks if isinstance(block, Player | Question | Check)}
    if missing := named - set(programs):
        raise LessonInvalid(f"{path}: no program {', '.join(sorted(missing))} beside it")


def _examples(folder: Path) -> tuple[Example, ...]:
    index = folder / "examples.yaml"
    if not index.is_file():
        return ()
    return tuple(
        Example(
            program=Program(
                EXAMPLES, entry["id"], (folder / f"{entry['id']}.py").read_text(encoding="utf-8")
            ),
            titles={language: entry[language] for language in LANGUAGES},
        )
        for entry in yaml.safe_load(index.read_text(encoding="utf-8"))
    )


def _pairs(index: Path) -> tuple[ProgramPair, ...]:
    if not index.is_file():
        return ()
    return tuple(
        ProgramPair(
            id=entry["id"],
            titles={language: entry[language] for language in LANGUAGES},
            left=Program(PAIRS, f"{entry['id']}-left", entry["left"]),
            right=Program(PAIRS, f"{entry['id']}-right", entry["right"]),
        )
        for entry in yaml.safe_load(index.read_text(encoding="utf-8"))
    )
