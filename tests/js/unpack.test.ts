/** What the browser unpacks is what was packed: for recorded traces, and for a loop with all that repeats in it. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { unpack } from "../../static/src/model/unpack";

const PACK = `
import json, pathlib, sys
from tensor_anatomy.schema import Trace
from tensor_anatomy.schema.packing import pack
from tests.conftest import record

LOOP = """
import torch
from torch import nn
model = nn.Linear(3, 2)
opt = torch.optim.Adam(model.parameters())
data = torch.ones(40, 3)
for i in range(12):
    y = model(data[i:i + 4]).exp()
    opt.zero_grad()
    y.sum().backward()
    opt.step()
    print(i, float("nan"))
y.add_(1)
del model, data
"""
traces = [Trace.model_validate_json(p.read_bytes()) for p in sorted(pathlib.Path("app/lessons/recorded").glob("*.json"))]
for trace in [*traces, record(LOOP)]:
    print(json.dumps([pack(trace), trace.model_dump(mode="json", by_alias=True)]))
`;

test("a trace is unpacked to what was packed", () => {
  const output = execFileSync(".venv/bin/python", ["-c", PACK], { encoding: "utf8", maxBuffer: 1 << 28 });
  const pairs = output.trim().split("\n").map((line) => JSON.parse(line) as [unknown, object]);

  assert.ok(pairs.length > 5);
  for (const [packed, plain] of pairs) assert.deepEqual(unpack(packed), plain);
});

test("a trace that is not packed is shown as it is", () => {
  const plain = { schema_version: 1, steps: [] };
  assert.equal(unpack(plain), plain);
});
