/** Traces programs for a test, here and now, with the tracer itself: all of a test file in one process. */
import { execFileSync } from "node:child_process";
import type { Trace } from "../../static/src/schema/trace.gen";

const PROGRAM = `
import json, sys
sys.path.insert(0, "")
from tensor_anatomy.drawing import draw
from tensor_anatomy.explaining import explain
from tests.conftest import record
for source, device in json.load(sys.stdin):
    print(draw(explain(record(source, device=device))).model_dump_json(by_alias=True))
`;

/** Programs, each with its device, → their traces. */
export function traced(programs: readonly (readonly [source: string, device: string])[]): Trace[] {
  const out = execFileSync(".venv/bin/python", ["-c", PROGRAM], { input: JSON.stringify(programs), maxBuffer: 1 << 28, encoding: "utf8" });
  return out.trim().split("\n").map((line) => JSON.parse(line) as Trace);
}
