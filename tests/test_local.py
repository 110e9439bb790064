"""A script of one's own: traced, it does what `python FILE ARGS` does, and what it did is told."""

import faulthandler
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tensor_anatomy import cli
from tensor_anatomy.local import decode_source

COMMAND = Path(sys.executable).with_name("tensor-anatomy")
TRAINING = Path(__file__).parent / "data" / "own_script"
SAYS_SO = "Running without a sandbox: the script can do what you can.\n"
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}


@dataclass
class Done:
    """What a command did."""

    status: int
    out: str
    err: str

    @property
    def state(self) -> Any:
        return json.loads(self.out)


def run(command: list[str | Path], folder: Path, **options: Any) -> Done:
    done = subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=60, **options
    )
    return Done(done.returncode, done.stdout, done.stderr)


def plain(folder: Path, *arguments: str, **options: Any) -> Done:
    return run([sys.executable, *arguments], folder, **options)


def traced(folder: Path, *arguments: str, **options: Any) -> Done:
    return run([COMMAND, "trace", *arguments], folder, **options)


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., str]:
    """Text → a file with it, in the folder that commands run in."""

    def write(text: str, name: str = "script.py") -> str:
        (tmp_path / name).write_text(textwrap.dedent(text))
        return name

    return write


@pytest.fixture
def command(tmp_path: Path) -> Callable[..., Done]:
    """The command in a fork of this process, which has torch already; its end is sudden, unlike Python's."""

    def go(*arguments: str) -> Done:
        out, err = tmp_path / "out", tmp_path / "err"
        child = os.fork()
        if child == 0:
            _be_the_command(list(arguments), tmp_path, out, err)
        _, status = os.waitpid(child, 0)
        return Done(os.waitstatus_to_exitcode(status), out.read_text(), err.read_text())

    return go


def _be_the_command(arguments: list[str], folder: Path, out: Path, err: Path) -> None:
    status = 70
    faulthandler.disable()
    try:
        signal.alarm(50)
        os.chdir(folder)
        for number, path in ((1, out), (2, err)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", buffering=1)  # noqa: SIM115
        os.environ.update(ENVIRONMENT)
        status = cli.main(["trace", *arguments])
    except SystemExit as end:  # the script's own process comes here too
        status = end.code if isinstance(end.code, int) else 1
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status)


# ---- a script as people write them


@pytest.fixture
def training(tmp_path: Path) -> Path:
    return shutil.copytree(TRAINING, tmp_path / "training")


@pytest.mark.slow
def test_a_training_script_learns_the_same_traced_and_plain(training):
    arguments = ["train.py", "flowers.csv", "--epochs", "2", "--out"]
    alone = plain(training, *arguments, "alone")
    watched = traced(
        training, "--format", "json", "-o", "trace.json", "--steps", "400", "--local", *arguments, "watched"
    )
    trace = json.loads((training / "trace.json").read_text())

    assert len((training / "train.py").read_text().splitlines()) == 200
    assert (alone.status, watched.status) == (0, 0), watched.err
    assert watched.out == alone.out
    assert watched.err == SAYS_SO + alone.err.replace("alone", "watched")
    for name in ("best.pt", "history.json"):
        assert (training / "watched" / name).read_bytes() == (training / "alone" / name).read_bytes()
    assert trace["outcome"]["kind"] == "finished"
    assert trace["environment"]["seed"] is None
    lines = (training / "train.py").read_text().splitlines()
    of = {lines[s["range"]["line"] - 1].strip(): i for i, s in enumerate(trace["statements"])}
    lamps = {
        text: set().union(*(step["lamps"] for step in trace["steps"] if step["statement"] == number))
        for text, number in of.items()
    }
    assert lamps["loss.backward()"] >= {"data", "autograd"}
    assert "data" in lamps["optimizer.step()"]
    assert lamps["history = []"] == set()
    rounds = [step for step in trace["steps"] if step["statement"] == of["logits = model(x)"]]
    assert sum(step["executions"] for step in rounds) == 10
    assert "model.blocks[0].first.weight" in trace["names"] or any(
        "model.blocks[0].first.weight" in event.get("paths", {})
        for step in trace["steps"]
        for event in step["events"]
    )


EVERYTHING = """\
    import atexit, inspect, logging, os, pickle, subprocess, sys, threading, traceback, warnings
    import torch
    from torch.utils.data import DataLoader
    import rich                       # not the package: a file beside this one
    from rich import double

    class Kept:
        def __init__(self, t):
            self.t = t

    def fails(t):
        return torch.nn.functional.linear(t, torch.ones(2, 2))

    atexit.register(print, "at exit")
    logging.basicConfig(stream=sys.stdout, format="%(filename)s %(lineno)d %(message)s")
    logging.warning("a log line")
    print(sys.argv, sys.path[0] == os.getcwd(), os.path.basename(__file__), __name__, __package__, __spec__)
    print(sorted(name for name in vars() if name[:2] == "__"), sys.stdout.isatty(), sys.stdout.encoding)
    print("read:", sys.stdin.readline().strip(), input("more? "))
    print(os.environ["LANG"], rich.__file__ == os.path.abspath("rich.py"))
    sys.stdout.flush()
    sys.stdout.buffer.write(b"bytes\\n")
    subprocess.run([sys.executable, "-c", "print('a child', flush=True)"])
    x = torch.arange(6.).reshape(2, 3)
    thread = threading.Thread(target=lambda: print("a thread", x.sum().item()))
    thread.start()
    thread.join()
    warnings.warn("careful")
    warnings.warn("old", DeprecationWarning)
    torch.save(Kept(double(x)), "kept.pt")
    print(torch.load("kept.pt", weights_only=False).t)
    print(type(pickle.loads(pickle.dumps(Kept(x)))) is Kept)
    print(inspect.getsource(fails).splitlines()[0], inspect.getsourcefile(Kept) == __file__)
    for batch in DataLoader(list(range(4)), batch_size=2, num_workers=1):
        print(batch, flush=True)
    pid = os.fork()
    if pid == 0:
        torch.ones(2).add_(1)
        os._exit(0)
    print("forked", os.waitpid(pid, 0)[1])
    y = x.t()
    sys.exit(3)
"""


@pytest.mark.slow
def test_a_script_finds_the_world_as_python_shows_it(script, tmp_path):
    script("def double(t):\n    return t * 2\n", "rich.py")
    script(EVERYTHING)
    alone = plain(tmp_path, "script.py", "-x", "y z", input="one\ntwo\n")
    watched = traced(
        tmp_path,
        *("--format", "state", "-o", "state.json", "--local", "script.py", "-x", "y z"),
        input="one\ntwo\n",
    )
    state = json.loads((tmp_path / "state.json").read_text())

    assert alone.status == 3, alone.err
    assert watched.out == alone.out
    assert watched.err == SAYS_SO + alone.err + "The script ended with exit status 3.\n"
    assert watched.status == 0
    tensors = {name: state["tensors"][str(i)] for name, i in state["bindings"].items()}
    assert tensors["y"]["storage"] == tensors["x"]["storage"]
    # What others write past Python's streams is on the terminal, not in the trace.
    theirs = [
        line for line in alone.out.splitlines(keepends=True) if line.strip() not in ("a child", "at exit")
    ]
    told = state["stdout"].splitlines(keepends=True)
    assert sorted(told) == sorted(theirs)


def test_an_error_is_printed_as_python_prints_it_and_explained(script, command, tmp_path):
    script(
        "import torch\ndef deep(t):\n    return torch.nn.functional.linear(t, torch.ones(2, 2))\n",
        "beside.py",
    )
    script("""\
        import torch
        from beside import deep
        def call(t):
            try:
                return deep(t)
            except RuntimeError as error:
                raise ValueError("no use") from error
        call(torch.ones(3))
    """)
    alone = plain(tmp_path, "script.py")
    watched = command("--local", "script.py")

    assert alone.status == 1
    assert "torch/_ops.py" not in alone.err
    assert watched.err == SAYS_SO + alone.err
    assert watched.status == 0
    assert "ValueError line 7: no use" in watched.out


def test_a_script_that_does_not_compile_is_told_as_python_tells_it(script, command, tmp_path):
    script("import torch\nx = (1,\n")
    alone = plain(tmp_path, "script.py")
    watched = command("--local", "script.py")

    assert watched.err == SAYS_SO + alone.err
    assert "SyntaxError line 2: '(' was never closed" in watched.out


# ---- stopping it


def test_ctrl_c_reaches_the_script_and_keeps_the_steps(script, tmp_path):
    script("""\
        import torch
        x = torch.zeros(3)
        print("ready", flush=True)
        try:
            while True:
                x = x + 1
        except KeyboardInterrupt:
            y = x.view(3, 1)
        print("again", flush=True)
        while True:
            x = x + 1
    """)
    command = [COMMAND, "trace", "--format", "state", "-o", "state.json", "--local", "script.py"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            for word in ("ready", "again"):
                assert process.stdout.readline() == f"{word}\n"
                time.sleep(0.2)
                os.kill(_child_of(process.pid), signal.SIGINT)
                os.kill(process.pid, signal.SIGINT)
            _, err = process.communicate(timeout=50)
        finally:
            process.kill()
    state = json.loads((tmp_path / "state.json").read_text())

    assert process.returncode == 130
    assert err.rstrip().endswith("KeyboardInterrupt\nInterrupted: these are the steps so far.")
    assert state["outcome"]["type"] == "KeyboardInterrupt"
    assert state["outcome"]["line"] in (10, 11)
    assert state["changed"]["8"] == {"y": ["new"]}


def _child_of(pid: int) -> int:
    (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(child)


def test_a_time_limit_stops_a_script_that_sleeps(script, command):
    script("import time, torch\nx = torch.ones(2)\ntime.sleep(40)\n")
    began = time.monotonic()
    done = command("--format", "state", "--wall", "0.5", "--local", "script.py")

    assert done.status == 3
    assert time.monotonic() - began < 30
    assert done.state["outcome"]["reason"] == "time-limit"
    assert done.state["outcome"]["line"] == 3
    assert "x" in done.state["bindings"]


@pytest.mark.parametrize(
    ("option", "program", "reason"),
    [
        (("--statements", "20"), "while True:\n    x = 1\n", "step-limit"),
        (("--stdout", "1k"), "while True:\n    print('x' * 100)\n", "output-limit"),
    ],
    ids=["statements", "output"],
)
def test_limits_are_kept_when_they_are_asked_for(script, command, option, program, reason):
    script(program)
    done = command("--format", "state", *option, "--local", "script.py")

    assert done.status == 3
    assert done.state["outcome"]["reason"] == reason


def test_without_limits_a_script_may_print_and_run_long(script, command):
    script("for i in range(3000):\n    print('x' * 10_000)\n")
    done = command("--format", "state", "--steps", "50", "--local", "script.py")

    assert done.state["outcome"]["kind"] == "finished"
    assert done.err.count("x" * 10_000) == 3000
    assert 50 <= done.state["steps"] < 100


@pytest.mark.parametrize(
    ("end", "says"),
    [
        ("import ctypes; ctypes.string_at(0)", "SIGSEGV"),
        ("import os; os._exit(7)", "exit status 7"),
    ],
    ids=["a segmentation fault", "os._exit"],
)
def test_a_process_that_dies_leaves_the_steps_before(script, command, end, says):
    script(f"import torch\nx = torch.ones(2)\n{end}\n")
    done = command("--format", "state", "--local", "script.py")

    assert done.status == 5
    assert done.state["outcome"]["kind"] == "crashed"
    assert says in done.state["outcome"]["message"]
    assert done.state["outcome"]["line"] == 3
    assert "x" in done.state["bindings"]


# ---- what is printed, and where


def test_json_has_stdout_for_itself(script, command):
    script("import os\nprint('printed', flush=True)\nos.system('echo past python')\n")
    done = command("--format", "state", "--local", "script.py")

    assert done.state["stdout"] == "printed\n"
    assert done.err == SAYS_SO + "printed\npast python\n"


def test_text_follows_what_the_script_printed_and_does_not_repeat_it(script, command):
    script("import torch\nprint('hello')\nx = torch.ones(2)\n")
    done = command("--local", "script.py")

    assert done.out.startswith("hello\n\nscript.py\ntorch ")
    assert done.out.count("hello") == 2  # said, and in the source
    assert "seed" not in done.out


def test_a_page_of_a_script_is_written(script, command, tmp_path):
    script("import torch\nx = torch.ones(2, 3)\ny = x.t()\n")
    done = command("--format", "html", "-o", "page.html", "--local", "script.py")
    page = (tmp_path / "page.html").read_text()

    assert (done.status, done.out) == (0, "")
    assert page.startswith("<!doctype html>")
    assert "<title>script.py" in page


def test_a_seed_is_set_only_when_it_is_asked_for(script, command):
    script("import torch\nprint(torch.initial_seed())\n")
    left = command("--format", "state", "--local", "script.py").state
    given = command("--format", "state", "--seed", "5", "--local", "script.py").state

    assert left["stdout"] == f"{__import__('torch').initial_seed()}\n"
    assert (given["stdout"], given["environment"]["seed"]) == ("5\n", 5)


def test_options_behind_the_script_are_the_scripts_and_that_is_said(script, command):
    script("import argparse\nargparse.ArgumentParser().parse_args()\n")
    done = command("--local", "script.py", "--format", "json")

    assert "unrecognized arguments: --format json" in done.err
    assert "The script ended with exit status 2." in done.err
    assert "--format went to the script: options of this command stand before FILE." in done.err


def test_objects_of_the_scripts_own_module_have_names(script, command):
    script("""\
        import torch
        class Bag:
            def __init__(self):
                self.w = torch.ones(2)
        bag = Bag()
        bag.w.add_(1)
    """)
    state = command("--format", "state", "--local", "script.py").state

    assert "bag.w" in state["bindings"]
    assert state["changed"]["6"] == {"bag.w": ["data"]}


# ---- reading it


def test_a_coding_comment_and_a_byte_order_mark_are_honoured():
    assert decode_source("# -*- coding: latin-1 -*-\ns = 'é'\n".encode("latin-1")).endswith("'é'\n")
    assert decode_source("s = 'é'\n".encode("utf-8-sig")) == "s = 'é'\n"
    with pytest.raises(SyntaxError, match="unknown encoding"):
        decode_source(b"# coding: klingon\n")


@pytest.mark.parametrize(
    ("file", "complaint"),
    [
        ("nowhere.py", "cannot read nowhere.py: No such file or directory"),
        ("folder", "folder is a folder, not a program; did you mean folder/__main__.py?"),
        ("binary.py", "binary.py is not UTF-8: byte 10, on line 2, cannot be read"),
        ("coded.py", "coded.py cannot be read: unknown encoding: klingon"),
    ],
)
def test_a_file_that_cannot_be_read_is_bad_usage(tmp_path, monkeypatch, capsys, file, complaint):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "__main__.py").write_text("")
    (tmp_path / "binary.py").write_bytes(b"a = 1\nb = \xff\n")
    (tmp_path / "coded.py").write_bytes(b"# coding: klingon\n")

    assert cli.main(["trace", "--local", file]) == 2
    assert capsys.readouterr() == ("", f"tensor-anatomy: {complaint}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--step", "1", "--format", "html", "--local", "a.py"],
        ["-o", ".", "--local", "a.py"],
        ["--device", "simulated-cuda", "--local", "a.py"],
    ],
    ids=" ".join,
)
def test_options_that_make_no_sense_together_are_bad_usage(tmp_path, monkeypatch, capsys, arguments):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text("print('it ran')\n")

    assert cli.main(["trace", *arguments]) == 2
    assert "it ran" not in capsys.readouterr().out


@pytest.mark.parametrize("option", [["--wall", "0"], ["--steps", "none"], ["--stdout", "1x"]], ids=" ".join)
def test_a_limit_is_a_number(option, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["trace", *option, "--local", "a.py"])

    assert ended.value.code == 2
    assert option[0] in capsys.readouterr().err
