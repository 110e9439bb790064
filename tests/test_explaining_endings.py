"""A program that was stopped, refused or crashed is told why and what to do, in both languages."""

import re

import pytest
from tensor_anatomy.execution.verdict import Ending, verdict
from tensor_anatomy.explaining import explain
from tensor_anatomy.explaining.endings import explain_ending, limit_of
from tensor_anatomy.messages import text_of
from tensor_anatomy.schema import Explanation, Outcome
from tensor_anatomy.settings import Settings

LIMITS = Settings().limits.model_copy(update={"wall_s": 1.5})


def ended(*, status: int = 0, **changes: object) -> Outcome:
    known = {
        "cpu_s": 0.1,
        "killed_for": None,
        "fault": None,
        "ran_out_of_memory": False,
        "said": None,
        "line": 3,
    }
    return verdict(Ending(status=status, **{**known, **changes}), LIMITS)  # type: ignore[arg-type]


def words(explanation: Explanation | None, language: str) -> list[str]:
    assert explanation is not None
    return [text_of(language, each.id, each.args) for each in explanation.sentences]  # type: ignore[arg-type]


ENDINGS = {
    "wall": (ended(killed_for="time-limit"), "time-limit", "1.5"),
    "processor": (ended(status=24), "time-limit", "4"),
    "output": (ended(killed_for="output-limit"), "output-limit", "8 MiB"),
    "memory": (ended(status=9, ran_out_of_memory=True), "memory-limit", "512 MiB"),
    "grown": (ended(killed_for="memory-limit", too_much="512 MiB of memory"), "memory-limit", "512 MiB"),
    "threads": (ended(killed_for="memory-limit", too_much="64 threads"), "memory-limit", "64"),
    "segfault": (ended(status=11), "signal", "SIGSEGV"),
    "abort": (ended(status=6), "signal", "SIGABRT"),
    "other architecture": (ended(status=31), "signal", "SIGSYS"),
    "exit": (ended(status=71 << 8), "invalid-reply", ""),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_an_ending_names_the_limit_its_value_and_what_to_do(name: str) -> None:
    outcome, reason, value = ENDINGS[name]
    explanation = explain_ending(outcome)
    assert explanation is not None
    assert (outcome.reason, explanation.class_, explanation.line) == (reason, reason, 3)
    for language in ("en", "zh"):
        why, fix = words(explanation, language)
        assert value in why
        assert fix


NO_PROSE = r"SIG\w+|MiB|MB|PyTorch|ctypes|[\w.]*_\w+|sys\.exit|tensor-anatomy trace --local|device=\S+"


@pytest.mark.parametrize("name", ENDINGS)
def test_in_chinese_no_english_is_left(name: str) -> None:
    for text in words(explain_ending(ENDINGS[name][0]), "zh"):
        prose = re.sub(
            NO_PROSE,
            "",
            text,
        )
        assert not re.search(r"[A-Za-z]{2,}", prose), prose


def test_every_limit_that_is_written_is_understood() -> None:
    for text, what in (
        ("1.5 s", "wall"),
        ("4 s of processor time", "processor"),
        ("512 MiB of memory", "memory"),
        ("8,388,608 bytes of output", "output"),
        ("1,000,000 executed statements", "statements"),
    ):
        assert limit_of(text)["what"] == what
    for outcome, _, _ in ENDINGS.values():
        assert outcome.kind == "crashed" or limit_of(outcome.limit)["what"] != "other"


def test_a_limit_that_a_program_made_up_is_not_repeated() -> None:
    for text in ("<b>9</b> s", "9 s of patience", "", "nan s", "9" * 10_000, "1 s\n2 s"):
        forged = ENDINGS["wall"][0].model_copy(update={"limit": text})
        assert (
            words(explain_ending(forged), "en")[0] == "The program was stopped: it ran longer than a run may."
        )


def test_a_program_that_ended_by_itself_has_no_ending_to_explain(trace_of) -> None:
    assert explain_ending(trace_of("x = 1").outcome) is None
    stopped = trace_of("x = 1").model_copy(update={"outcome": ENDINGS["wall"][0]})
    explanation = explain(stopped).explanation
    assert explanation is not None
    assert explanation.class_ == "time-limit"


@pytest.mark.parametrize(
    ("line", "kind", "message", "names"),
    [
        ("urllib.request.urlopen('http://a')", "URLError", "<urlopen error>", "randn"),
        ("s = socket.socket()", "PermissionError", "[Errno 1] Operation not permitted", "randn"),
        ("MNIST('.', download=True)", "PermissionError", "[Errno 13] Permission denied: './MNIST'", "randn"),
        ("open('a.txt', 'w')", "PermissionError", "[Errno 13] Permission denied: 'a.txt'", "io.BytesIO"),
        ("subprocess.run(['ls'])", "PermissionError", "[Errno 1] Operation not permitted", "Threads"),
        ("os.fork()", "PermissionError", "[Errno 1] Operation not permitted", "Threads"),
        ("for b in DataLoader(d, num_workers=2): pass", "PermissionError", "[Errno 1]", "num_workers=0"),
        ("f(x)", "InductorError", "PermissionError: [Errno 13]", 'backend="eager"'),
        ("x = 1", "PermissionError", "[Errno 1] Operation not permitted", "--local"),
    ],
)
def test_what_was_refused_is_named_with_the_usual_way_around(trace_of, line, kind, message, names) -> None:
    raised = trace_of(f"if 0:\n    {line}").outcome.model_copy(
        update={"kind": "raised", "reason": "denied", "line": 2, "type": kind, "message": message}
    )
    trace = trace_of(f"if 0:\n    {line}").model_copy(update={"outcome": raised})
    explanation = explain(trace).explanation
    assert explanation is not None
    assert explanation.class_ == "denied"
    for language in ("en", "zh"):
        why, fix = words(explanation, language)
        assert why
        assert names in fix or (names == "Threads" and "线程" in fix)
