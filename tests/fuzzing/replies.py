"""Replies of a child: real ones, recorded here, and ways to break them. Read as the server reads them."""

import asyncio
import json
import random
import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from tensor_anatomy.execution.child import Child, Exit
from tensor_anatomy.execution.running import Running
from tensor_anatomy.schema import Environment, Limits, RunRequest, Trace
from tensor_anatomy.tracing.session import record_program

LIMITS = Limits(
    wall_s=30,
    cpu_s=4,
    memory_bytes=512 << 20,
    steps_kept=2_000,
    statements=1_000_000,
    stdout_kept_bytes=64 << 10,
    stdout_bytes=1 << 20,
    trace_bytes=4 << 20,
    value_elements=256,
)

PROGRAMS = (
    """import torch
w = torch.ones(3, requires_grad=True)
x = torch.arange(6.).reshape(2, 3)
y = x.t()
y.add_(1)
e = w.exp()
e.mul_(2)
print('é', y)
e.sum().backward()
""",
    """import torch, warnings
def f(x):
    h = x * 2
    return h.sum()
held = [f(torch.ones(i)) for i in range(5)]
del held
s = torch.eye(3).to_sparse()
q = torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)
warnings.warn('careful')
big = torch.zeros(4096)
""",
    """import torch
model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(30):
    opt.zero_grad()
    model(torch.randn(4, 3)).sum().backward()
    opt.step()
try:
    with torch.no_grad():
        torch.ones(2, 3) @ torch.ones(2, 3)
except RuntimeError as e:
    print(e)
""",
)

HOSTILE_TEXT = (
    "<script>alert(1)</script>",
    "</script><!--<img src=x onerror=alert(1)>",
    "'\"><svg onload=alert(1)>",
    "javascript:alert(1)//",
    "{{7*7}}{% raw %}${1}{name}",
    "\x1b]0;owned\x07\x1b[2J\x1b[31m\x9b31m",
    "\u202egnp.exe\u2066\u200f",
    "a\0b\r\nc\u2028d\u0085",
    "\\ud800 %s %(x)s \\u003c",
    "Z" * 5_000,
    "",
)
"""Texts that want to be markup, code, a template, or a command to a terminal."""

_HOSTILE: tuple[Any, ...] = (
    -1, 0, 1, 2**31, 2**53 + 1, 2**63, -(2**63), 10**400, 0.5, -0.0, 1e308, True, None, [], {}, [[[]]], "0x",
    *HOSTILE_TEXT,
)  # fmt: skip
"""Values that may stand where another is expected."""


@lru_cache(maxsize=len(PROGRAMS))
def recorded(source: str) -> tuple[bytes, ...]:
    """The frames that a child sends for a program, the empty one first."""
    payloads: list[bytes] = [b""]
    faults: list[str] = []
    request = RunRequest(source=source, device="cpu", seed=0, limits=LIMITS, observed=True)
    record_program(request, payloads.append, confined=True, faults=faults)
    assert not faults, faults
    return tuple(payloads)


def frames(payloads: Sequence[bytes]) -> bytes:
    """Payloads as they travel."""
    return b"".join(struct.pack("<I", len(payload)) + payload for payload in payloads)


class _Puppet:
    """Stands for a child: what it writes is given beforehand, and it is dead when all is read."""

    def __init__(self, reply: bytes, cut: int, status: int) -> None:
        self._reply, self._cut, self._status = reply, cut, status
        self.killed = False

    def listen(self, on_output: Callable[[bytes], None], on_result: Callable[[bytes], None]) -> None:
        on_output(b"")
        for at in range(0, len(self._reply), self._cut):
            on_result(self._reply[at : at + self._cut])
            if self.killed:
                return

    async def announced(self) -> None:
        return

    def confined(self) -> None:
        """Nothing waits to be sent."""

    def pid_here(self) -> None:
        return

    async def ended(self) -> Exit:
        return Exit(9 if self.killed else self._status, 0.1)

    def kill(self) -> None:
        self.killed = True


def read(source: str, reply: bytes, *, cut: int = 1 << 16, status: int = 0) -> Trace:
    """The trace that the server makes of a reply."""
    environment = Environment(torch="2.13", python="3.11", device="cpu", simulated=False, seed=0)
    request = RunRequest(source=source, device="cpu", seed=0, limits=LIMITS, observed=True)
    puppet: Any = _Puppet(reply, cut, status)
    child: Child = puppet
    return asyncio.run(Running(child, request, environment, lambda chunk: None).trace())


def broken_bytes(payloads: Sequence[bytes], chance: random.Random) -> bytes:
    """A reply with bits flipped, bytes gone, frames lost, doubled, swapped, or lengths that lie."""
    several = list(payloads)
    match chance.randrange(7):
        case 0:
            del several[chance.randrange(1, len(several))]
        case 1:
            several.insert(chance.randrange(1, len(several) + 1), several[chance.randrange(len(several))])
        case 2 if len(several) > 2:
            i, j = chance.sample(range(1, len(several)), 2)
            several[i], several[j] = several[j], several[i]
        case _:
            pass
    reply = bytearray(frames(several))
    first = 4  # the empty frame was sent before the program was looked at
    match chance.randrange(6):
        case 0:
            for _ in range(chance.choice((1, 1, 3, 50))):
                reply[chance.randrange(first, len(reply))] ^= 1 << chance.randrange(8)
        case 1:
            del reply[chance.randrange(first, len(reply)) :]
        case 2:
            at = chance.randrange(first, len(reply))
            reply[at:at] = chance.randbytes(chance.choice((1, 4, 4_000)))
        case 3:
            at = chance.randrange(first, len(reply))
            del reply[at : at + chance.choice((1, 4, 400))]
        case 4:
            struct.pack_into("<I", reply, 4, chance.choice((0, 1, 2**31, 2**32 - 1, len(reply), 1 << 20)))
        case _:
            reply += frames([chance.choice((b"", b"null", b"[" * 10_000, several[-1]))])
    return bytes(reply)


def _places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [path, *(place for key, each in children for place in _places(each, (*path, key)))]


def broken_fields(payloads: Sequence[bytes], chance: random.Random) -> bytes:
    """A reply of well-formed JSON in which some fields hold what they should not."""
    several = [json.loads(payload) if payload else None for payload in payloads]
    for _ in range(chance.choice((1, 1, 2, 5))):
        chunk = several[chance.randrange(1, len(several))]
        places = _places(chunk)[1:]
        *way, last = chance.choice(places)
        holder = chunk
        for key in way:
            holder = holder[key]
        old = holder[last]
        alike = [each for each in _HOSTILE if type(each) is type(old)]
        match chance.randrange(6):
            case 0:
                del holder[last]
            case 1 if isinstance(holder, list):
                holder.insert(last, old)
            case 2:
                holder[last] = chance.choice(_HOSTILE)
            case 3 if isinstance(old, int) and old is not None:
                holder[last] = old + chance.choice((-1, 1, 7, -100))
            case _ if alike:
                holder[last] = chance.choice(alike)
            case _:
                holder[last] = chance.choice(_HOSTILE)
    return frames([b"" if each is None else json.dumps(each).encode() for each in several])
