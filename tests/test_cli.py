"""The command line: what it prints, where, and the exit status."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tensor_anatomy import cli
from tensor_anatomy.errors import SandboxUnavailable

from .conftest import record

COMMAND = Path(sys.executable).with_name("tensor-anatomy")
VIEWS = """\
import torch
a = torch.arange(12.0).reshape(3, 4)
b = a.t()
e = b.contiguous()
a.add_(100)
"""


@pytest.fixture
def program(tmp_path):
    """Text → a file with it."""

    def write(text: str | bytes, name: str = "program.py") -> str:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return write


@pytest.fixture
def traced_here(monkeypatch):
    """Programs are traced in this process instead of the sandbox; their requests are kept."""
    requests = []

    def trace(request, _limits, **_options):
        requests.append(request)
        return record(request.source, seed=request.seed)

    monkeypatch.setattr(cli, "trace_once", trace)
    return requests


def ending(kind: str):
    def trace(request, _limits, **_options):
        done = record(request.source)
        return done.model_copy(
            update={"outcome": done.outcome.model_copy(update={"kind": kind, "message": "m"})}
        )

    return trace


def test_text_is_the_default(traced_here, program, capsys):
    assert cli.main(["trace", program(VIEWS)]) == 0

    assert " 3  · ◆ · ·  │ b = a.t()" in capsys.readouterr().out


def test_a_program_is_read_from_the_standard_input(traced_here, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(VIEWS.encode())))

    assert cli.main(["trace", "-"]) == 0
    assert "b is a view of a" in capsys.readouterr().out


def test_the_state_document_is_json(traced_here, program, capsys):
    assert cli.main(["trace", program(VIEWS), "--format", "state", "--step", "3"]) == 0
    state = json.loads(capsys.readouterr().out)

    assert (state["step"], state["steps"], state["line"]) == (3, 5, 3)
    assert state["tensors"][str(state["bindings"]["b"])]["stride"] == [1, 4]


def test_the_trace_is_json_with_its_meaning(traced_here, program, capsys):
    assert cli.main(["trace", "--format", "json", program(VIEWS)]) == 0
    trace = json.loads(capsys.readouterr().out)

    assert trace["schema_version"] == 1
    assert len(trace["said"]) == len(trace["steps"]) == 5


def test_device_and_seed_reach_the_run(traced_here, program):
    cli.main(["trace", "--seed", "7", "--device", "simulated-cuda", program(VIEWS)])

    assert [(r.seed, r.device) for r in traced_here] == [(7, "simulated-cuda")]


def test_a_program_that_raises_is_a_result(traced_here, program, capsys):
    assert cli.main(["trace", program("1 / 0\n")]) == 0
    assert "ZeroDivisionError" in capsys.readouterr().out


@pytest.mark.parametrize(("kind", "status"), [("stopped", 3), ("crashed", 5)])
def test_limits_and_crashes_have_their_exit_status(monkeypatch, program, capsys, kind, status):
    monkeypatch.setattr(cli, "trace_once", ending(kind))

    assert cli.main(["trace", program(VIEWS)]) == status
    assert "b is a view of a" in capsys.readouterr().out


def test_without_a_sandbox_the_exit_status_is_4(monkeypatch, program, capsys):
    def refuse(_request, _limits, **_options):
        raise SandboxUnavailable("this system has no seccomp")

    monkeypatch.setattr(cli, "trace_once", refuse)

    assert cli.main(["trace", program(VIEWS)]) == 4
    assert "this system has no seccomp" in capsys.readouterr().err


@pytest.mark.parametrize("format_", ["text", "state"])
@pytest.mark.parametrize("step", ["6", "-1"])
def test_a_step_that_is_not_there_is_bad_usage(traced_here, program, capsys, format_, step):
    assert cli.main(["trace", program(VIEWS), "--format", format_, f"--step={step}"]) == 2
    out, err = capsys.readouterr()

    assert out == ""
    assert "There is no step" in err


def test_bad_files_are_bad_usage(traced_here, program, capsys):
    assert cli.main(["trace", "no-such-file.py"]) == 2
    assert cli.main(["trace", program(b"x = '\xff'\n")]) == 2
    assert cli.main(["trace", program("#" * 70_000)]) == 2
    err = capsys.readouterr().err

    assert "cannot read no-such-file.py" in err
    assert "is not UTF-8" in err
    assert "70,000 bytes" in err
    assert traced_here == []


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["dance"],
        ["trace"],
        ["trace", "a.py", "--format", "xml"],
        ["trace", "a.py", "--seed", "-1"],
        ["trace", "a.py", "--seed", "x"],
        ["serve", "--port", "70000"],
    ],
    ids=" ".join,
)
def test_bad_arguments_exit_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)

    assert ended.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_a_program_needs_no_arguments(capsys):
    with pytest.raises(SystemExit):
        cli.main(["trace"])

    assert "required: FILE\n" in capsys.readouterr().err


def test_a_step_of_json_is_bad_usage(traced_here, program, capsys):
    assert cli.main(["trace", program(VIEWS), "--format", "json", "--step", "1"]) == 2
    assert "--step" in capsys.readouterr().err
    assert traced_here == []


def test_an_error_of_python_is_told_once(traced_here, program, capsys):
    cli.main(["trace", program("raise ValueError('k must not be zero')\n"), "--lang", "en"])

    assert capsys.readouterr().out.count("k must not be zero") == 2  # the line, and the error


def test_arguments_of_a_program_need_local(traced_here, program, capsys):
    assert cli.main(["trace", program(VIEWS), "more"]) == 2
    assert "--local" in capsys.readouterr().err


@pytest.mark.parametrize(("value", "word"), [("zh_CN.UTF-8", "视图"), ("de_DE.UTF-8", "is a view of")])
def test_the_language_follows_the_environment(traced_here, program, monkeypatch, capsys, value, word):
    for name in ("LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", value)
    cli.main(["trace", program(VIEWS)])

    assert word in capsys.readouterr().out


def test_serve_hands_its_arguments_to_the_server(monkeypatch, tmp_path):
    import uvicorn

    calls = []
    monkeypatch.setattr(uvicorn, "run", lambda *args, **options: calls.append((args, options)))
    monkeypatch.setattr("tensor_anatomy.logs.configure", lambda *_: None)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    assert cli.main(["serve", "--host", "0.0.0.0", "--port", "8123", "--lessons", str(tmp_path)]) == 0
    ((application,), options) = calls[0]

    assert application == "tensor_anatomy.main:create_app"
    assert (options["host"], options["port"], options["factory"]) == ("0.0.0.0", 8123, True)
    assert os.environ["LESSONS"] == str(tmp_path)


def test_serve_demands_a_sandbox_when_told_to(monkeypatch, capsys):
    def refuse(_request, _limits, **_options):
        raise SandboxUnavailable("this system has no seccomp")

    monkeypatch.setattr(cli, "trace_once", refuse)
    monkeypatch.setattr(os, "environ", dict(os.environ))

    assert cli.main(["serve", "--require-sandbox"]) == 4
    assert "no seccomp" in capsys.readouterr().err


def test_serve_refuses_a_device_that_no_program_may_use(capsys, monkeypatch):
    monkeypatch.setattr(os, "environ", dict(os.environ))

    assert cli.main(["serve", "--device", "cuda"]) == 2
    assert "cuda" in capsys.readouterr().err


def test_serve_refuses_lessons_that_are_not_there(capsys, monkeypatch):
    monkeypatch.setattr(os, "environ", dict(os.environ))

    assert cli.main(["serve", "--lessons", "no-such-folder"]) == 2
    assert "is not a folder" in capsys.readouterr().err


# ---- in processes of their own


def command(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, timeout=60, **options)


def test_the_command_runs_a_program_in_the_sandbox(program):
    source = VIEWS + "import os\nprint(os.getcwd(), sorted(os.environ))\n"
    done = command("trace", program(source), "--format", "state", env={**os.environ, "SECRET": "word"})
    state = json.loads(done.stdout)

    assert (done.returncode, done.stderr) == (0, "")
    assert state["steps"] == 7
    assert "SECRET" not in state["stdout"]


def test_an_endless_program_exits_with_3_and_keeps_its_steps(program):
    done = command(
        "trace", program("x = 1\nwhile True:\n    x += 1\n"), env={**os.environ, "WALL_SECONDS": "1"}
    )

    assert done.returncode == 3
    assert "1  · · · ·  │ x = 1" in done.stdout


def test_local_runs_a_script_with_its_own_files_and_arguments(program, tmp_path):
    (tmp_path / "beside.py").write_text("import torch\ndef make():\n    return torch.ones(2, 3)\n")
    (tmp_path / "data.txt").write_text("read me")
    script = program(
        "import sys\nfrom pathlib import Path\nfrom beside import make\nx = make()\ny = x.t()\n"
        "print(sys.argv[1:], Path(__file__).name, Path('data.txt').read_text(), __name__)\n"
    )
    done = command("trace", "--local", script, "--epochs", "3", cwd=tmp_path)

    assert done.returncode == 0
    assert "without a sandbox" in done.stderr
    assert "y is a view of x" in done.stdout
    assert "['--epochs', '3'] program.py read me __main__" in done.stdout


def test_local_may_follow_the_file(program, tmp_path):
    script = program("import sys\nprint(sys.argv[1:])\n")
    done = command("trace", script, "--format", "state", "--local", "--local", "--epochs", "3", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["stdout"] == "['--local', '--epochs', '3']\n"


def test_local_tells_the_scripts_own_failure(program):
    done = command("trace", "--local", program("import torch\ntorch.ones(2) @ torch.ones(3)\n"))

    assert done.returncode == 0
    assert "RuntimeError line 2" in done.stdout


def test_a_reader_that_goes_away_is_no_error(program):
    shell = f"'{COMMAND}' trace --local '{program(VIEWS)}' | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, timeout=60)

    assert done.returncode == 0
    assert "BrokenPipe" not in done.stderr
