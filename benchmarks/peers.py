"""Each peer doing its own job on one program: `python -m benchmarks.peers PEER PROGRAM`, printing JSON.

Runs in the environment of the peers, which has torch but not this project, so it imports nothing of it. A
peer's job is what its users have it for, with all it says kept as text or bytes: a line tracer traces every
line, a renderer renders what the program made. Where a peer has nothing to work on, it says why.
"""

import gc
import gzip
import io
import json
import os
import resource
import sys
import tempfile
import time
import types
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).parent / "programs"
ENOUGH_S = 20.0
"""A peer that took this long is not asked again."""

Job = Callable[["Program"], bytes]


class NotItsJob(Exception):
    """The peer has nothing to work on in this program."""


class Program:
    """A program as plain code, and as the body of a function, which some peers need."""

    def __init__(self, name: str) -> None:
        self.source = (PROGRAMS / f"{name}.py").read_text()
        self.code = compile(self.source, f"{name}.py", "exec")
        self._folder = tempfile.mkdtemp(prefix="peers-")
        lines = self.source.splitlines()
        body = "".join(f"    {line}\n" if line else "\n" for line in lines)
        self._module = Path(self._folder, "wrapped.py")
        self._module.write_text(f"def program():\n{body}    return locals()\n")

    def run(self) -> dict[str, Any]:
        """Run it plain; its variables."""
        variables: dict[str, Any] = {"__name__": "__main__"}
        exec(self.code, variables)
        return variables

    def function(self) -> Callable[[], dict[str, Any]]:
        """The program as a function in a file of its own."""
        module = types.ModuleType("wrapped")
        module.__file__ = str(self._module)
        sys.modules["wrapped"] = module
        exec(compile(self._module.read_text(), self._module, "exec"), module.__dict__)
        return module.program  # type: ignore[no-any-return]


def _by_line(program: Program, show: Callable[[dict[str, Any]], str]) -> bytes:
    """Run the program and show its variables after every line, as a line-by-line tool does."""
    said: list[str] = []
    name = program.code.co_filename

    def hear(frame: Any, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename != name:
            return None
        if event in ("line", "return"):
            said.append(show(dict(frame.f_locals)))
        return hear

    sys.settrace(hear)
    try:
        program.run()
    finally:
        sys.settrace(None)
    return "\n".join(said).encode()


# ---- the peers


def snoop(program: Program) -> bytes:
    """Every line with what it changed, as text."""
    import snoop as peer

    out = io.StringIO()
    peer.Config(out=out, color=False).snoop(depth=1)(program.function())()
    return out.getvalue().encode()


def birdseye(program: Program) -> bytes:
    """Every expression of every line, in its database."""
    with tempfile.NamedTemporaryFile(suffix=".db") as file:
        os.environ["BIRDSEYE_DB"] = f"sqlite:///{file.name}"
        from birdseye.bird import BirdsEye

        BirdsEye(f"sqlite:///{file.name}")(program.function())()
        return Path(file.name).read_bytes()


def memory_graph(program: Program) -> bytes:
    """The graph of objects after every line, as Graphviz source."""
    import memory_graph as peer
    import torch

    def show(variables: dict[str, Any]) -> str:
        shown = {
            name: value
            for name, value in variables.items()
            if isinstance(value, torch.Tensor | torch.nn.Module | list | dict | int | float)
            and name[:2] != "__"
        }
        return str(peer.create_graph(shown).source)

    return _by_line(program, show)


def lovely_tensors(program: Program) -> bytes:
    """A summary of every tensor variable after every line."""
    import torch
    from lovely_tensors import lovely

    def show(variables: dict[str, Any]) -> str:
        tensors = {n: v for n, v in variables.items() if isinstance(v, torch.Tensor)}
        return "\n".join(f"{name} = {lovely(tensor)}" for name, tensor in tensors.items())

    return _by_line(program, show)


def torchviz(program: Program) -> bytes:
    """The program, then its graph with saved tensors, as Graphviz source."""
    from torchviz import make_dot

    variables = program.run()
    end = next((v for v in (variables.get("loss"), variables.get("s")) if v is not None), None)
    if end is None or end.grad_fn is None:
        raise NotItsJob("the program ends without a loss to draw")
    model = variables.get("model")
    names = dict(model.named_parameters()) if model is not None else None
    return str(make_dot(end, params=names).source).encode()


def torchlens(program: Program) -> bytes:
    """The program, and one forward pass of its model logged with every activation."""
    import torchlens as peer

    variables = program.run()
    model, x = variables.get("model"), variables.get("x")
    if model is None or not callable(getattr(type(model), "forward", None)) or "q" in variables:
        raise NotItsJob("it logs one forward pass of a model; the program has none")
    log = peer.trace(model, x)
    return str(log).encode()


def debug_mode(program: Program) -> bytes:
    """Every op and API call, as a list in text."""
    from torch.utils._debug_mode import DebugMode

    with DebugMode(record_torchfunction=True) as mode:
        program.run()
    return mode.debug_string().encode()


def torch_profiler(program: Program) -> bytes:
    """Every op with shapes, memory and stack, as a Chrome trace."""
    from torch.profiler import ProfilerActivity, profile

    with profile(
        activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True, with_stack=True
    ) as profiler:
        program.run()
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        profiler.export_chrome_trace(file.name)
        return Path(file.name).read_bytes()


JOBS: dict[str, Job] = {
    "snoop": snoop,
    "birdseye": birdseye,
    "memory_graph": memory_graph,
    "lovely-tensors": lovely_tensors,
    "torchlens": torchlens,
    "torchviz": torchviz,
    "DebugMode": debug_mode,
    "torch.profiler": torch_profiler,
}


# ---- measuring


def in_turn(plain: Callable[[], object], other: Callable[[], bytes], turns: int) -> dict[str, Any]:
    """Processor times in ms of both sides, in turn; the first round warms up, unless it took long."""
    times: dict[str, list[float]] = {"plain_ms": [], "traced_ms": []}
    for turn in range(turns + 1):
        gc.collect()
        began = time.process_time()
        _failing_as_it_may(plain)
        between = time.process_time()
        said = other()
        ended = time.process_time()
        long = ended - began > ENOUGH_S
        if turn or long:
            times["plain_ms"].append((between - began) * 1000)
            times["traced_ms"].append((ended - between) * 1000)
        if long:
            break
    return {**times, "raw": len(said), "gzip": len(gzip.compress(said, 6))}


def _failing_as_it_may(work: Callable[[], object]) -> None:
    with suppress(RuntimeError):  # one of the programs shows an error
        work()


def peak_mb() -> float:
    """The largest memory this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def measure(peer: str, name: str, turns: int) -> dict[str, Any]:
    """What a peer takes for a program."""
    import torch

    torch.set_num_threads(1)
    program = Program(name)
    job = JOBS[peer]

    def work() -> bytes:
        try:
            return job(program)
        except RuntimeError as error:
            if name == "inplace" and "inplace operation" in str(error):
                raise NotItsJob("the program's own error leaves it nothing") from error
            raise

    if name == "large":
        said = work()
        return {"peak_mb": peak_mb(), "raw": len(said), "gzip": len(gzip.compress(said, 6))}
    return in_turn(program.run, work, turns)


def main() -> None:
    """Print JSON: figures, or why there are none."""
    peer, name, turns = sys.argv[1], sys.argv[2], int(sys.argv[3])
    out = sys.stdout
    sys.stdout = io.StringIO()
    try:
        answer = measure(peer, name, turns)
    except NotItsJob as reason:
        answer = {"skipped": str(reason)}
    except Exception as error:
        answer = {
            "failed": f"{type(error).__name__}: {str(error).splitlines()[0][:120] if str(error) else ''}"
        }
    sys.stdout = out
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
