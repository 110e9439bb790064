/**
 * The browser's fold says what Python's says: every step of every recorded trace, in any order.
 *
 * Python's state documents are computed here and now, so that neither side can drift alone.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { traitsOf } from "../../static/src/layout/traits";
import { History } from "../../static/src/model/history";
import type { State } from "../../static/src/model/state";
import type { Trace } from "../../static/src/schema/trace.gen";

const RECORDED = "app/lessons/recorded";
const STEPS_COMPARED = 40;

interface Saved {
  readonly field: string;
  readonly storage: number | null;
  readonly version: number | null;
  readonly stale: boolean;
  readonly freed: boolean;
  readonly scalar: string | null;
}

interface StateDocument {
  readonly step: number;
  readonly line: number | null;
  readonly stdout: string;
  readonly bindings: Readonly<Record<string, number>>;
  readonly locals: Readonly<Record<string, number>>;
  readonly tensors: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly storages: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly nodes: Readonly<Record<string, { readonly name: string; readonly line: number | null; readonly next_functions: unknown; readonly variable: number | null; readonly saved: readonly Saved[] }>>;
  readonly lamps: Readonly<Record<string, readonly string[]>>;
  readonly bytes: { readonly alive: Readonly<Record<string, number>>; readonly peak: Readonly<Record<string, number>> };
}

const PROGRAM = `
import json, sys
from tensor_anatomy.schema import Trace
from tensor_anatomy.schema.replay import state_document
trace = Trace.model_validate_json(open(sys.argv[1]).read())
steps = json.loads(sys.argv[2])
print(json.dumps([state_document(trace, step).model_dump(mode="json") for step in steps]))
`;

function documents(path: string, steps: readonly number[]): StateDocument[] {
  const python = ".venv/bin/python";
  const out = execFileSync(python, ["-c", PROGRAM, path, JSON.stringify(steps)], { maxBuffer: 1 << 28, encoding: "utf8" });
  return JSON.parse(out) as StateDocument[];
}

/** A state in the words of the state document, as far as the browser keeps it. */
function worded(state: State): unknown {
  return {
    step: state.step,
    line: state.line,
    stdout: state.stdout,
    bindings: Object.fromEntries(state.bindings),
    locals: Object.fromEntries(state.locals),
    tensors: Object.fromEntries(
      [...state.tensors].map(([id, tensor]) => {
        const { view, storage, version, gradFn, grad } = tensor;
        return [id, { ...view, storage, version, grad_fn: gradFn, grad, traits: traitsOf(tensor) }];
      }),
    ),
    storages: Object.fromEntries(
      [...state.storages].map(([id, { nbytes, address, device, freed, freedLine, heldBy }]) => {
        return [id, { nbytes, address, device, freed, freed_line: freedLine, held_by: heldBy }];
      }),
    ),
    nodes: Object.fromEntries(
      [...state.nodes].map(([id, { name, line, nextFunctions, variable, saved }]) => {
        const slots = saved.map(({ field, storage, version, stale, freed, scalar }) => ({ field, storage, version, stale, freed, scalar }));
        return [id, { name, line, next_functions: nextFunctions, variable, saved: slots }];
      }),
    ),
    lamps: Object.fromEntries(state.lamps),
    bytes: { alive: positive(Object.fromEntries(state.alive)), peak: Object.fromEntries(state.peak) },
  };
}

function positive(bytes: Readonly<Record<string, number>>): unknown {
  return Object.fromEntries(Object.entries(bytes).filter(([, each]) => each > 0));
}

function kept(document: StateDocument): unknown {
  const { step, line, stdout, bindings, locals, storages, nodes, lamps, bytes } = document;
  const tensors = Object.entries(document.tensors).map(([id, { values: _, unobserved: __, ...tensor }]) => [id, tensor]);
  return { step, line, stdout, bindings, locals, tensors: Object.fromEntries(tensors), storages, nodes, lamps, bytes: { alive: positive(bytes.alive), peak: bytes.peak } };
}

function spread(count: number): number[] {
  const all = Array.from({ length: count + 1 }, (_, step) => step);
  const every = Math.ceil(all.length / STEPS_COMPARED);
  return all.filter((step) => step % every === 0 || step === count);
}

function compare(path: string): void {
  const trace = JSON.parse(readFileSync(path, "utf8")) as Trace;
  const steps = spread(trace.steps.length);
  const wanted = documents(path, steps).map(kept);
  const history = new History(trace);

  steps.forEach((step, i) => assert.deepEqual(worded(history.state(step)), wanted[i], `step ${step}`));
  for (const i of [...steps.keys()].reverse()) {
    const step = steps[i] ?? 0;
    assert.deepEqual(worded(history.state(step)), wanted[i], `step ${step} after a later one`);
  }
}

for (const name of readdirSync(RECORDED).filter((each) => each.endsWith(".json"))) {
  test(`the states of ${name} are those of Python, forwards and back`, () => compare(join(RECORDED, name)));
}

const RECORD = `
import json, sys
from tests.conftest import record
programs = {row["id"]: row["source"] for row in map(json.loads, open("tests/data/pitfalls.jsonl"))}
for name in sys.argv[2:]:
    open(sys.argv[1] + "/" + name + ".json", "w").write(record(programs[name]).model_dump_json(by_alias=True))
`;

test("memory under several storages, shared cells, parts, wrappers and numbers are told as in Python", () => {
  const folder = mkdtempSync(join(tmpdir(), "traces-"));
  const programs = ["D07", "D11", "D25", "M05", "M06", "M08", "M12", "A06", "A20"];
  execFileSync(".venv/bin/python", ["-c", RECORD, folder, ...programs], { stdio: "ignore" });
  for (const name of programs) compare(join(folder, `${name}.json`));
  rmSync(folder, { recursive: true });
});

test("a storage that a step wrote in place keeps its bytes from before", () => {
  const name = readdirSync(RECORDED).find((each) => each.startsWith("examples.write-through")) ?? "";
  const trace = JSON.parse(readFileSync(join(RECORDED, name), "utf8")) as Trace;
  const history = new History(trace);
  const written = trace.steps.findIndex((_, i) => history.state(i + 1).written.size > 0) + 1;
  const [storage, before] = [...history.state(written).written][0] ?? [-1, null];
  const now = history.state(written).storages.get(storage)?.bytes;

  assert.deepEqual(before, history.state(written - 1).storages.get(storage)?.bytes);
  assert.notDeepEqual(before, now);
  assert.deepEqual([...new Float32Array(before?.buffer ?? new ArrayBuffer(0))].slice(0, 6), [0, 1, 2, 3, 4, 5]);
});

test("a step that is not there is refused", () => {
  const empty = { steps: [], statements: [], names: [], views: [], ranges: [], sites: [], source: "" } as unknown as Trace;

  assert.throws(() => new History(empty).state(1), RangeError);
  assert.equal(new History(empty).state(0).tensors.size, 0);
});
