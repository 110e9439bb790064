/** Builds small traces for tests: steps given as lists of events, every statement on a line of its own. */
import type { Step, TensorView, Trace } from "../../static/src/schema/trace.gen";

export type TraceEvent = Step["events"][number];

/** A float32 tensor's window on a storage, on the CPU unless said otherwise. */
export function view(shape: number[], stride: number[], offset = 0, device = "cpu"): TensorView {
  return {
    shape, stride, storage_offset: offset, dtype: "torch.float32", layout: "torch.strided", device,
    is_contiguous: true, is_conj: false, is_neg: false, requires_grad: false, is_leaf: true,
  };
}

export const storage = (id: number, nbytes: number, device = "cpu"): TraceEvent => {
  return { kind: "storage", id, nbytes, address: `0x${(id * 4096).toString(16)}`, device };
};

export const tensor = (id: number, viewIndex: number, on: number | null, version = 0, grad: number | null = null): TraceEvent => {
  return { kind: "tensor", id, view: viewIndex, storage: on, version, grad_fn: null, grad, quantizer: null };
};

export const name = (root: string, id: number | null): TraceEvent => {
  return { kind: "names", frame: 0, root, paths: id === null ? {} : { [root]: id } };
};

export const gone = (...tensors: number[]): TraceEvent => ({ kind: "gone", tensors });
export const freed = (...storages: number[]): TraceEvent => ({ kind: "freed", storages, line: null });

export const bytes = (on: number, values: number[]): TraceEvent => {
  const data = Buffer.from(Float32Array.from(values).buffer).toString("base64");
  return { kind: "bytes", storage: on, data, late: false };
};

/** A step of a trace: its events, and what they changed under which name. */
export interface SmallStep {
  readonly events: TraceEvent[];
  readonly changed?: Step["changed"];
}

export function traceOf(views: TensorView[], steps: readonly SmallStep[]): Trace {
  let first = 0;
  const whole = steps.map(({ events, changed }, i): Step => {
    const at = first;
    first += events.length;
    return {
      statement: i, frame: 0, depth: 0, began: i, first_event: at, executions: 1, fold: null, raised: false,
      changed: changed ?? {}, lamps: [], peak_bytes: {}, events,
    };
  });
  return {
    schema_version: 1,
    source: steps.map(() => "pass\n").join(""),
    environment: { torch: "2.13.0", python: "3.11", device: "cpu", simulated: false, seed: 0 },
    statements: steps.map((_, i) => ({ kind: "Pass", range: { line: i + 1, column: 0, end_line: i + 1, end_column: 4 } })),
    names: ["AccumulateGrad", "MulBackward0"],
    views,
    ranges: [],
    sites: [],
    steps: whole,
    outcome: { kind: "finished", line: null, type: null, message: null, reason: null, limit: null, range: null, traceback: [], failure: null },
    observer_effects: [],
    comparison: { state: "same", reason: null, unsteady: [], nodes: [], contents: [], sentences: [] },
    explanation: null,
    notes: [],
    sentences: [],
    said: [],
    graph: null,
  };
}
