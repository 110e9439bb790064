/** Copies between devices with both their storages, and the segments of an allocator. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { livesOf, type TransferLife } from "../../static/src/layout/lives";
import { largestFree, segmentsOf, trafficOf } from "../../static/src/layout/transfers";
import type { AllocatorFigures, Trace } from "../../static/src/schema/trace.gen";
import { Messages, type Catalogue } from "../../static/src/model/messages";
import { endsOf, sourceOf } from "../../static/src/views/copies";
import { traced } from "./traced";
import { name, storage, tensor, traceOf, view, type TraceEvent } from "./small-trace";

const VIEWS = [view([4], [1]), view([4], [1], 0, "cuda:0")];

function copy(source: number, target: number): TraceEvent {
  return { kind: "transfer", source, target, source_device: "cpu", target_device: "cuda:0", nbytes: 16 };
}

const FIGURES: AllocatorFigures = {
  kind: "allocator", device: "cuda:0", simulated: true, allocated_bytes: 1536, reserved_bytes: 2048, peak_allocated_bytes: 1536,
  peak_reserved_bytes: 2048, segments: 1, retries: 0, failures: 0, capacity_bytes: 4096, blocks: [[512, -512, 1024]],
};

test("a copy knows the storage it came from and the one it made, which is described after it", () => {
  const trace = traceOf(VIEWS, [
    { events: [storage(1, 16), tensor(1, 0, 1), name("x", 1)] },
    { events: [copy(1, 2), storage(2, 16, "cuda:0"), tensor(2, 1, 2), name("g", 2)] },
  ]);
  const [only] = trafficOf(trace, livesOf(trace)).copies;
  assert.deepEqual([only?.sourceStorage, only?.targetStorage, only?.sourceName, only?.targetName], [1, 2, "x", "g"]);
  assert.deepEqual([only?.pinned, only?.nonBlocking], [false, false]);
});

test("a parameter that a module moves came from its old storage and has the new one", () => {
  const trace = traceOf(VIEWS, [
    { events: [storage(1, 16), tensor(1, 0, 1), name("net.weight", 1)] },
    { events: [copy(1, 9), storage(2, 16, "cuda:0"), tensor(1, 1, 2)] },
  ]);
  const [only] = trafficOf(trace, livesOf(trace)).copies;
  assert.deepEqual([only?.sourceStorage, only?.targetStorage], [1, 2]);
});

test("what the statement asks for and what pin_memory made are marked", () => {
  const trace = traceOf(VIEWS, [
    { events: [storage(1, 16), tensor(1, 0, 1), name("x", 1)] },
    { events: [{ kind: "op", site: 0, inputs: [1], outputs: [2] }, storage(2, 16), tensor(2, 0, 2), name("p", 2)] },
    { events: [copy(2, 3), storage(3, 16, "cuda:0"), tensor(3, 1, 3), name("g", 3)] },
    { events: [copy(1, 4), storage(4, 16, "cuda:0"), tensor(4, 1, 4), name("h", 4)] },
  ]);
  const site = { op: 0, api: 1, range: null, node: null, verdicts: [], views: [], written: [], failed: false };
  const told = { ...trace, names: ["aten::clone", "pin_memory"], sites: [site], source: "\n\ng = p.to('cuda', non_blocking=True)\nh = x.cuda()\n" };
  const { copies } = trafficOf(told as unknown as typeof trace, livesOf(trace));
  assert.deepEqual(copies.map(({ pinned, nonBlocking }) => [pinned, nonBlocking]), [[true, true], [false, false]]);
});

test("blocks fill their segment in order, free ones are told apart, and the largest free one counts", () => {
  const segments = segmentsOf(FIGURES) ?? assert.fail();
  assert.deepEqual(segments.map(({ bytes, used }) => [bytes, used]), [[2048, 1536]]);
  assert.deepEqual(segments[0]?.blocks.map(({ from, share, free }) => [from, share, free]), [[0, 0.25, false], [0.25, 0.25, true], [0.5, 0.5, false]]);
  assert.equal(largestFree(segments), 512);
  assert.equal(segmentsOf({ ...FIGURES, blocks: null }), null);
});

test("what allocators say is kept per device and step", () => {
  const trace = traceOf(VIEWS, [{ events: [] }, { events: [FIGURES] }, { events: [{ ...FIGURES, device: "cuda:1" }] }]);
  const { allocators } = trafficOf(trace, livesOf(trace));
  assert.deepEqual([...allocators].map(([device, told]) => [device, told.map(({ step }) => step)]), [["cuda:0", [2]], ["cuda:1", [3]]]);
});

test("an end of a copy that nothing is called is said by the piece of the program that made it", () => {
  const source = 'import torch\nx = torch.ones(2, 3)\nW = torch.ones(3, 2)\ny = (x @ W).to("cuda")\nz = y.cpu().sum()\n';
  const called = "import torch\n\n\ndef twice(a):\n    return a * 2\n\n\nm = torch.ones(2)\nq = [twice(m)][0].to('cuda')\n";
  const [here, elsewhere] = traced([[source, "simulated-cuda"], [called, "simulated-cuda"]]);
  const { text } = new Messages("en", JSON.parse(readFileSync("app/messages/en.json", "utf8")) as Catalogue);
  const copies = (trace: Trace | undefined): readonly TransferLife[] => (trace === undefined ? [] : livesOf(trace).transfers);
  assert.deepEqual(copies(here).map((each) => endsOf(each, text)), ["x @ W → y", "y → y.cpu()"]);
  assert.deepEqual(copies(here).map(sourceOf), ["x @ W", "y"]);
  assert.deepEqual(copies(elsewhere).map((each) => endsOf(each, text)), ["a * 2 (line 5) → q"]);
});
