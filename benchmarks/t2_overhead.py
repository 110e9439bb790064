"""T2: a training loop traced and plain, in one process; and the bytes of its trace.

Run as a module of its own it is the child that takes the times: one thread, garbage frozen, processor time.
"""

import gzip
import json
from collections.abc import Iterator

from .child import chunks_of, cpu_ms, get_ready, in_child, request_of
from .programs import S5, source_of
from .report import Figure, figure, ratios
from .server import serving

TITLE = "a training loop of 50 steps (S5): traced ÷ plain, and bytes"

TURNS = 15


def measure() -> Iterator[Figure]:
    """Times from a child, bytes from a server."""
    taken = in_child("t2_overhead")
    yield figure("plain (exec)", "ms", taken["plain"])
    yield figure("traced, chunks encoded", "ms", taken["traced"])
    yield figure("in the sandbox, unobserved", "ms", taken["unobserved"])
    yield figure("traced ÷ plain", "x", ratios(taken["traced"], taken["plain"]), at_most=12)
    yield figure("chunks, raw", "kB", taken["chunk_bytes"] / 1000)
    yield figure("chunks, gzip -6", "kB", taken["chunk_gzip_bytes"] / 1000)
    with serving() as server:
        body = server.trace(source_of(S5)).body
        packed = server.trace(source_of(S5), encoding="gzip").body
        streamed = server.trace(source_of(S5), stream=True, encoding="gzip").body
    trace = json.loads(body)
    if trace["outcome"]["kind"] != "finished":
        raise RuntimeError(f"the program did not finish: {trace['outcome']}")
    yield figure("trace as the API sends it, raw", "kB", len(body) / 1000, at_most=300)
    yield figure("trace, gzip -6", "kB", len(gzip.compress(body, 6)) / 1000, at_most=40)
    yield figure("trace as sent with gzip", "kB", len(packed) / 1000)
    yield figure("stream as sent with gzip", "kB", len(streamed) / 1000)
    for part in ("steps", "views", "ranges", "names", "graph", "sentences", "notes"):
        size = len(json.dumps(trace[part], separators=(",", ":"), ensure_ascii=False).encode())
        yield figure(f"  of it: {part}", "kB", size / 1000)


def _child() -> None:
    get_ready()
    source = source_of(S5)
    code = compile(source, "program.py", "exec")
    taken: dict[str, list[float]] = {"plain": [], "traced": [], "unobserved": []}
    payloads: list[bytes] = []
    for turn in range(TURNS + 2):
        plain = cpu_ms(lambda: exec(code, {"__name__": "__main__"}))
        payloads.clear()
        traced = cpu_ms(lambda: payloads.extend(chunks_of(request_of(source))))
        unobserved = cpu_ms(lambda: chunks_of(request_of(source, observed=False)))
        if turn >= 2:  # the first ones warm up
            taken["plain"].append(plain)
            taken["traced"].append(traced)
            taken["unobserved"].append(unobserved)
    whole = b"\n".join(payloads)
    sizes = {"chunk_bytes": len(whole), "chunk_gzip_bytes": len(gzip.compress(whole, 6))}
    print(json.dumps({**taken, **sizes}))


if __name__ == "__main__":
    _child()
