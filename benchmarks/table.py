"""TABLE: what watching costs, program by program, beside what the peers cost; writes `RESULTS.md`.

Run as a module of its own it is the child that takes our times. Every figure is a ratio of processor times
taken in turn in one process, plain and traced; each tool and program has a process of its own.
"""

import contextlib
import gzip
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .child import ROOT, chunks_of, get_ready, in_child, request_of
from .peers import JOBS, in_turn, peak_mb
from .programs import source_of
from .report import Figure, figure, percentile, ratios

TITLE = "every program, ours and the peers: traced ÷ plain, bytes; writes benchmarks/RESULTS.md"

RESULTS = Path(__file__).with_name("RESULTS.md")
TURNS = int(os.environ.get("BENCH_TURNS", "5"))
LONGEST_S = 60
PROGRAMS = {
    "mlp": "S1: an MLP forward and backward",
    "views": "S2: ten lines of views",
    "matmul": "S3: a matrix product",
    "inplace": "S4: an in-place error",
    "train": "S5: 50 steps of training",
    "mlp_20": "20 steps of an MLP with Adam",
    "loop_1000": "a loop of 1,000 rounds",
    "loop_10000": "a loop of 10,000 rounds",
    "attention": "attention, forward and backward",
    "resnet": "a ResNet of 110 parameters, one step",
}
LARGE = "large"
OURS = "Tensor Anatomy"

Taken = dict[str, Any]


def measure() -> Iterator[Figure]:
    """Take all figures; each of ours is told as it comes."""
    ours: dict[str, Taken] = {}
    for name, said in PROGRAMS.items():
        ours[name] = in_child("table", name, str(TURNS), seconds=900)
        yield figure(f"{said}: traced ÷ plain", "x", _ratios(ours[name]))
    ours[LARGE] = in_child("table", LARGE, "traced", seconds=300)
    plain = in_child("table", LARGE, "plain", seconds=300)
    ours[LARGE]["plain_mb"] = plain["peak_mb"]
    yield figure("a tensor of 400 MB: peak traced ÷ plain", "x", ours[LARGE]["peak_mb"] / plain["peak_mb"])
    theirs = _peers()
    RESULTS.write_text(_page(ours, theirs))
    yield figure(f"peers that were measured; see {RESULTS.relative_to(ROOT)}", "", len(theirs))


def _ratios(taken: Taken) -> tuple[float, ...]:
    return ratios(taken["traced_ms"], taken["plain_ms"])


# ---- the peers


def _peers() -> dict[str, dict[str, Taken]]:
    answer = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "peers.py")], stdout=subprocess.PIPE, text=True, check=False
    )
    if answer.returncode != 0:
        print("  the peers cannot be installed here and are left out", flush=True)
        return {}
    python = answer.stdout.split()[-1]
    found: dict[str, dict[str, Taken]] = {}
    for peer in JOBS:
        began = time.perf_counter()
        found[peer] = {name: _peer(python, peer, name) for name in (*PROGRAMS, LARGE)}
        print(f"  {peer}: measured in {time.perf_counter() - began:.0f} s", flush=True)
    return found


def _peer(python: str, peer: str, name: str) -> Taken:
    command = [python, "-m", "benchmarks.peers", peer, name, str(TURNS)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    try:
        answer = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"more than {LONGEST_S} s"}
    if answer.returncode != 0:
        return {"failed": f"ended with status {answer.returncode}"}
    taken: Taken = json.loads(answer.stdout.splitlines()[-1])
    return taken


# ---- the page


def _page(ours: dict[str, Taken], theirs: dict[str, dict[str, Taken]]) -> str:
    parts = [
        "# What watching costs",
        f"Written by `make bench` on {time.strftime('%Y-%m-%d')}: {_processor()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, torch {ours['mlp']['torch']}, one thread; load "
        f"{os.getloadavg()[0]:.1f} at the end. Processor times, medians of {TURNS} turns of plain and "
        "traced, with the middle half of the ratios in brackets.",
        _our_table(ours),
        "## Beside other tools",
        "Each does its own job on the same program: snoop and birdseye trace every line, memory_graph and "
        "lovely-tensors show the variables after every line, torchlens logs one more forward pass of the "
        "model, torchviz draws the graph at the end, DebugMode and torch.profiler record every op. "
        "None of them shows all that the others show; – means it has nothing to work on, × that it failed.",
        "Traced ÷ plain:",
        _wide(ours, theirs, lambda taken: f"{statistics.median(_ratios(taken)):.1f}"),
        "What it says, kB after gzip:",
        _wide(ours, theirs, lambda taken: f"{taken['gzip'] / 1000:.1f}"),
        _memory(ours[LARGE], {peer: taken[LARGE] for peer, taken in theirs.items()}),
        _reasons(theirs),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _our_table(ours: dict[str, Taken]) -> str:
    rows = [
        "| program | plain ms | traced ms | traced ÷ plain | µs a line | µs an op | kB raw | kB gzip |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, said in PROGRAMS.items():
        taken, ratio = ours[name], _ratios(ours[name])
        added = statistics.median(t - p for t, p in zip(taken["traced_ms"], taken["plain_ms"], strict=True))
        spread = f" [{percentile(ratio, 25):.1f}, {percentile(ratio, 75):.1f}]" if len(ratio) > 1 else ""
        cells = (
            said,
            f"{statistics.median(taken['plain_ms']):.2f}",
            f"{statistics.median(taken['traced_ms']):.1f}",
            f"{statistics.median(ratio):.1f}{spread}",
            f"{added * 1000 / taken['lines']:.0f}",
            f"{added * 1000 / taken['ops']:.0f}",
            f"{taken['raw'] / 1000:.1f}",
            f"{taken['gzip'] / 1000:.1f}",
        )
        rows.append(f"| {' | '.join(cells)} |")
    rows.append("")
    rows.append(
        "All that tracing adds is divided by the lines executed and, the same time again, by the ops run: "
        "neither figure is the cost of a line or an op alone, which T3 takes apart."
    )
    return "\n".join(rows)


def _wide(ours: dict[str, Taken], theirs: dict[str, dict[str, Taken]], show: Any) -> str:
    tools = {OURS: ours, **theirs}
    rows = [f"| program | {' | '.join(tools)} |", f"|---|{'---:|' * len(tools)}"]
    for name, said in PROGRAMS.items():
        cells = [_cell(taken[name], show) for taken in tools.values()]
        rows.append(f"| {said} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _cell(taken: Taken, show: Any) -> str:
    if "skipped" in taken:
        return "–"
    return "×" if "failed" in taken else str(show(taken))


def _memory(ours: Taken, theirs: dict[str, Taken]) -> str:
    said = [
        f"A tensor of 400 MB: {ours['plain_mb']:,.0f} MB at most plain, {ours['peak_mb']:,.0f} MB traced, "
        f"{ours['peak_mb'] / ours['plain_mb']:.2f} of it; the trace has {ours['raw'] / 1000:.1f} kB."
    ]
    known = {peer: taken["peak_mb"] for peer, taken in theirs.items() if "peak_mb" in taken}
    if known:
        said.append("Others: " + ", ".join(f"{peer} {mb:,.0f} MB" for peer, mb in known.items()) + ".")
    return " ".join(said)


def _reasons(theirs: dict[str, dict[str, Taken]]) -> str:
    lines = []
    for peer, programs in theirs.items():
        reasons: dict[str, list[str]] = {}
        for name, taken in programs.items():
            if why := taken.get("skipped") or taken.get("failed"):
                reasons.setdefault(why, []).append(name)
        lines += [f"- {peer}, {', '.join(names)}: {why}" for why, names in reasons.items()]
    return "Why there is no figure:\n\n" + "\n".join(lines) if lines else ""


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


# ---- the child


def _child(name: str, how: str) -> None:
    import torch  # it belongs in children alone

    get_ready()
    source = source_of(name)
    code = compile(source, f"{name}.py", "exec")
    payloads: list[bytes] = []

    def plain() -> None:
        exec(code, {"__name__": "__main__"})

    def traced() -> bytes:
        payloads.clear()
        payloads.extend(chunks_of(request_of(source)))
        return b"\n".join(payloads)

    if name == LARGE:
        said = b"" if how == "plain" else traced()
        if how == "plain":
            plain()
        print(json.dumps({"peak_mb": peak_mb(), "raw": len(said), "gzip": len(gzip.compress(said, 6))}))
        return
    taken = in_turn(plain, traced, int(how))
    steps = [step for payload in payloads for step in json.loads(payload).get("steps", [])]
    lines = sum(step["executions"] for step in steps)
    print(json.dumps({**taken, "lines": lines, "ops": _ops(plain), "torch": torch.__version__}))


def _ops(plain: Any) -> int:
    """Aten ops that the program runs, counted by a mode of PyTorch's own kind."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Counting(TorchDispatchMode):
        count = 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.count += 1
            return func(*args, **(kwargs or {}))

    with Counting() as counting, contextlib.suppress(RuntimeError):
        plain()
    return max(counting.count, 1)


if __name__ == "__main__":
    _child(sys.argv[1], sys.argv[2])
