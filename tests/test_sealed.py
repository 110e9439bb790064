"""A sealed program may name no file, yet does what programs do elsewhere: all it loads is there already."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from tensor_anatomy.execution import Pool, Turns
from tensor_anatomy.execution.zygote_client import ZygoteClient
from tensor_anatomy.schema import TraceRequest
from tensor_anatomy.settings import Settings

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

DATA = Path(__file__).parent / "data"
LIMITS = Settings().limits.model_copy(update={"wall_s": 120.0, "cpu_s": 120})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sealed() -> AsyncIterator[Pool]:
    zygote = ZygoteClient("sealed")
    await zygote.start()
    if zygote.state != "ready":
        pytest.skip(f"nothing is sealed here: {zygote.reason}")
    yield Pool(LIMITS, turns=Turns(1, 2), zygote=zygote, compare=False)
    await zygote.close()


def programs(file: str) -> list[str]:
    lines = (DATA / file).read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["source"] for line in lines]


COMPILED = [source for source in programs("compiled.jsonl") if "inductor" not in source][::8]

LATE = {
    "nested tensors": "x = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)\n"
    "print((x * 2).sum())\n",
    "a recomputed part": """
from torch.utils.checkpoint import checkpoint
w = torch.ones(3, requires_grad=True)
@torch.compile(backend="aot_eager", dynamic=True)
def f(x):
    return checkpoint(torch.sin, x, use_reentrant=False).sum()
f(w).backward()
""",
    "one program after another": "for n in range(2):\n"
    "    print(torch.compile(lambda x: x + n, backend='eager')(torch.ones(2)))\n",
    "a program captured": """
class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu() + 1
print(torch.export.export(Net(), (torch.ones(2),)).module()(torch.ones(2)))
""",
    "attention with a mask of one's own": """
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
q = torch.randn(1, 1, 128, 8)
mask = create_block_mask(lambda b, h, i, j: i >= j, 1, 1, 128, 128, device="cpu")
print(flex_attention(q, q, q, block_mask=mask).shape)
""",
    "many modules": """
net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.GELU())
print(net(torch.ones(2, 1, 5, 5)).shape, torch.nn.LSTM(2, 2)(torch.ones(1, 1, 2))[0].shape)
torch.nn.TransformerEncoderLayer(8, 2)(torch.ones(1, 2, 8))
torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(torch.nn.Linear(2, 2)), {torch.nn.Linear})
torch.autograd.gradcheck(torch.sin, torch.ones(2, dtype=torch.double, requires_grad=True))
print(torch.func.vmap(torch.func.grad(lambda x: x.sin().sum()))(torch.ones(2, 2)))
print(torch.distributions.Normal(0., 1.).log_prob(torch.ones(2)), torch.fx.symbolic_trace(net).code)
with torch.profiler.profile() as profile:
    torch.ones(2) + 1
""",
    "TorchScript": "f = torch.jit.trace(lambda x: x * 2, torch.ones(2))\nprint(f(torch.ones(2)))\n",
    "an optimizer": """
w = torch.ones(2, requires_grad=True)
for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop, torch.optim.LBFGS):
    optimizer = kind([w], lr=0.1)
    w.sum().backward()
    optimizer.step(lambda: w.sum())
""",
}


@pytest.mark.parametrize("source", [*LATE.values(), *COMPILED], ids=[*LATE, *range(len(COMPILED))])
async def test_a_sealed_program_finds_what_it_needs(sealed: Pool, source: str) -> None:
    outcome = (await sealed.run(TraceRequest(source=f"import torch\n{source}"))).outcome
    assert outcome.reason is None, outcome.message
    assert "No module named" not in (outcome.message or "")
