"""Lessons: the same in both languages, true on the installed torch, and recorded."""

import dataclasses

import pytest
import torch
from tensor_anatomy.lessons.catalog import Catalog, load
from tensor_anatomy.lessons.markdown import Check, LessonInvalid, Player, Prose, inline, read_lesson
from tensor_anatomy.lessons.programs import Program, Recordings, TraceMissing, comparable
from tensor_anatomy.lessons.questions import Question, QuestionInvalid, question_of, until
from tensor_anatomy.schema import Trace
from tensor_anatomy.schema.replay import state_document

CATALOG = load()
PROGRAMS = list(CATALOG.programs())
LESSONS = CATALOG.lessons
FRONT = "---\ntitle: A\ngoal: B\n---\n"


def key(value) -> str:
    return getattr(value, "key", None) or value.slug


def shape_of(block) -> tuple:
    if isinstance(block, Question):
        texts = {"ask": "", "explanation": "", "feedback": dict.fromkeys(block.feedback, "")}
        return dataclasses.astuple(dataclasses.replace(block, **texts))
    return ("prose",) if isinstance(block, Prose) else dataclasses.astuple(block)


@pytest.mark.parametrize("lesson", LESSONS, ids=key)
def test_both_languages_ask_and_show_the_same(lesson):
    english, chinese = (
        [[shape_of(block) for block in part.blocks if not isinstance(block, Check)] for part in text.parts]
        for text in (lesson.texts["en"], lesson.texts["zh"])
    )
    assert english == chinese
    assert len(lesson.texts["en"].sources) == len(lesson.texts["zh"].sources)


@pytest.mark.parametrize("lesson", LESSONS, ids=key)
def test_checks_are_written_once_in_english(lesson):
    assert lesson.checks
    assert not [block for block in lesson.texts["zh"].blocks if isinstance(block, Check)]


@pytest.mark.parametrize("lesson", LESSONS, ids=key)
def test_every_program_is_shown_and_checked(lesson):
    blocks = lesson.texts["en"].blocks
    assert {block.program for block in blocks if isinstance(block, Player)} == set(lesson.programs)
    assert {check.program for check in lesson.checks} == set(lesson.programs)


@pytest.mark.parametrize("program", PROGRAMS, ids=key)
def test_a_program_is_short_and_starts_with_torch(program):
    assert program.source.startswith("import torch\n")
    assert program.source.endswith("\n")
    assert len(program.source.splitlines()) <= 15


@pytest.mark.parametrize(
    ("lesson", "name"), [(lesson, name) for lesson in LESSONS for name in lesson.programs], ids=str
)
def test_what_a_lesson_says_is_true_on_this_torch(lesson, name):
    torch.manual_seed(0)
    scope: dict[str, object] = {}
    exec(compile(lesson.programs[name].source, f"{name}.py", "exec"), scope)
    for check in lesson.checks:
        if check.program == name:
            exec(compile("\n" * check.line + check.code, f"{lesson.slug}/en.md", "exec"), scope)


@pytest.mark.parametrize("program", PROGRAMS, ids=key)
def test_every_program_is_recorded(program):
    try:
        trace = CATALOG.recordings.read(program)
    except TraceMissing as e:
        pytest.fail(str(e))
    assert trace.source == program.source
    assert len(trace.said) == len(trace.steps) > 0
    assert trace.environment.torch.split("+")[0] == torch.__version__.split("+")[0], "run `make record`"


def test_no_recording_is_left_over():
    files = {path.name for path in CATALOG.recordings.folder.iterdir()}
    assert files == {program.file_name for program in PROGRAMS}


def trace_of(name: str) -> Trace:
    program = CATALOG.program(name)
    assert program is not None
    return CATALOG.recordings.read(program)


def questions() -> list[tuple[str, Question]]:
    return [(lesson.slug, question) for lesson in LESSONS for question in lesson.questions("en").values()]


@pytest.mark.parametrize(("slug", "question"), questions(), ids=lambda v: getattr(v, "id", v))
def test_a_question_can_be_answered_and_explains_each_choice(slug, question):
    trace = trace_of(f"{slug}.{question.program}")
    assert 0 <= question.ask_step(trace) < question.reveal_step(trace) <= len(trace.steps)
    assert set(question.answer(trace)) <= set(question.choices)
    assert set(question.feedback) == set(question.choices)


def ask(**fields) -> Question:
    usual = {"program": "slice", "kind": "changed", "line": 4, "name": "x", "ask": "?", "explanation": "!"}
    return question_of("q", {**usual, **fields}, inline)


def test_answers_come_from_the_trace():
    trace = trace_of("one-storage.slice")
    assert ask(name="x").answer(trace) == ("data",)
    assert ask(name="y").answer(trace) == ("data",)
    assert ask(name="x", line=3).answer(trace) == ()
    assert ask(kind="lamps", line=2).answer(trace) == ("data", "metadata")
    assert ask(kind="sharing", line=4, choices=["y"]).answer(trace) == ("y",)


@pytest.mark.parametrize(
    "fields",
    [
        {"line": 99},
        {"line": 99, "kind": "lamps"},
        {"kind": "sharing", "choices": ["nothing"]},
        {"kind": "guess"},
        {"extra": 1},
        {"feedback": {"nothing": "?"}},
    ],
    ids=str,
)
def test_a_question_that_cannot_be_answered_is_an_error_and_not_a_wrong_answer(fields):
    with pytest.raises(QuestionInvalid):
        ask(**fields).answer(trace_of("one-storage.slice"))


def test_a_trace_cut_short_replays_as_the_whole_one_did_up_to_there():
    whole = trace_of("examples.write-through")
    for step in range(len(whole.steps) + 1):
        cut = until(whole, step)
        assert Trace.model_validate_json(cut.model_dump_json(by_alias=True)) == cut
        state, reference = state_document(cut, step), state_document(whole, step)
        assert (state.tensors, state.storages, state.nodes, state.lamps) == (
            reference.tensors,
            reference.storages,
            reference.nodes,
            reference.lamps,
        )
    assert until(whole, 3).outcome.kind == "finished"
    assert until(whole, 3).explanation is None
    assert until(whole, len(whole.steps)) is whole
    for wrong in (-1, len(whole.steps) + 1):
        with pytest.raises(IndexError):
            until(whole, wrong)


# ---- reading


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no front matter", "front matter"),
        ("---\ntitle: A\n---\n", "goal"),
        ("---\n- a\n---\n", "front matter"),
        (f"{FRONT}```trace\n```\n", "names a program"),
        (f"{FRONT}```trace a_b\n```\n", "names a program"),
        (f"{FRONT}```trace a step=x\n```\n", "step=N"),
        (f"{FRONT}```trace a focus=everything\n```\n", "focus="),
        (f"{FRONT}```trace a colour=red\n```\n", "step=N"),
        (f"{FRONT}```question a\n[\n```\n", "not YAML"),
        (f"{FRONT}```question a\nask: x\n```\n", "missing fields"),
    ],
)
def test_a_fault_in_a_lesson_is_named(text, said):
    with pytest.raises(ValueError, match=said) as fault:
        read_lesson(text)
    assert isinstance(fault.value, LessonInvalid | QuestionInvalid)


def test_raw_html_in_a_lesson_is_text():
    text = read_lesson(f"{FRONT}<script>alert(1)</script>\n\nA <b>word</b>.\n")
    html = "".join(block.html for block in text.blocks if isinstance(block, Prose))
    assert "<script>" not in html
    assert "<b>" not in html


def test_a_line_break_between_chinese_sentences_is_no_space():
    assert inline("一。\n二 `x`。\nabc\ndef") == "一。二 <code>x</code>。abc\ndef"


def test_a_lesson_without_its_program_is_refused(tmp_path):
    folder = tmp_path / "pages" / "01-a"
    folder.mkdir(parents=True)
    for language in ("en", "zh"):
        (folder / f"{language}.md").write_text(f"{FRONT}```trace gone\n```\n")
    with pytest.raises(LessonInvalid, match="no program gone"):
        load(tmp_path)
    (folder / "gone.py").write_text("import torch\n")
    assert [lesson.slug for lesson in load(tmp_path).lessons] == ["a"]


def test_a_recording_of_an_older_program_is_not_found_and_goes_with_the_next(tmp_path):
    recordings = Recordings(tmp_path)
    trace = trace_of("one-storage.slice")
    old, new = Program("a", "b", "x = 1\n"), Program("a", "b", "x = 2\n")
    other = Program("a", "b-c", "x = 1\n")
    for program in (old, other):
        recordings.write(program, trace)
    with pytest.raises(TraceMissing, match="make record"):
        recordings.read(new)
    recordings.write(new, trace)
    assert {path.name for path in tmp_path.iterdir()} == {new.file_name, other.file_name}


def test_only_addresses_of_storages_are_left_out_of_a_comparison():
    trace = trace_of("one-storage.slice")
    text = trace.model_dump_json(by_alias=True)
    address = next(e.address for step in trace.steps for e in step.events if e.kind == "storage")
    elsewhere = Trace.model_validate_json(text.replace(address, "0x1234"))
    assert elsewhere != trace
    assert comparable(elsewhere) == comparable(trace)
    assert comparable(until(trace, 3)) != comparable(trace)


def test_an_empty_folder_is_an_empty_catalog(tmp_path):
    catalog: Catalog = load(tmp_path)
    assert (catalog.lessons, catalog.examples) == ((), ())
