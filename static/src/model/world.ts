/**
 * Everything the events of a trace have said so far: what they are folded into.
 *
 * Twin of `World` in `app/schema/replay.py`. It holds records as they came; `history.ts` makes the
 * state that views read. Entries are replaced, never changed, so that a copy of the maps is a
 * snapshot.
 */
import type { GraphNode, Step, StorageBytes, TensorState, TensorValues, Trace } from "../schema/trace.gen";
import { LAYERS, type Layer } from "./state";

export type TraceEvent = Step["events"][number];

/** A storage as events described it. `bytes` is the event that brought its bytes. */
export interface StorageRecord {
  readonly id: number;
  readonly nbytes: number;
  readonly address: string;
  readonly device: string;
  readonly bytes: StorageBytes | null;
  readonly freed: boolean;
  readonly freedLine: number | null;
}

/** Variable → the expressions that start with it → tensor id. */
export type Roots = ReadonlyMap<string, Readonly<Record<string, number>>>;

export class World {
  readonly tensors: Map<number, TensorState>;
  readonly storages: Map<number, StorageRecord>;
  readonly values: Map<number, TensorValues>;
  readonly nodes: Map<number, GraphNode>;
  /** Node id → slots of its saved tensors that went stale. */
  readonly stale: Map<number, readonly number[]>;
  readonly savedFreed: Set<number>;
  readonly names: Map<number, Roots>;
  readonly functions: Map<number, string>;
  readonly alive: Map<string, number>;
  readonly peak: Map<string, number>;
  readonly lamps: Map<number, readonly Layer[]>;
  stdout: string;

  constructor(from?: World) {
    this.tensors = new Map(from?.tensors);
    this.storages = new Map(from?.storages);
    this.values = new Map(from?.values);
    this.nodes = new Map(from?.nodes);
    this.stale = new Map(from?.stale);
    this.savedFreed = new Set(from?.savedFreed);
    this.names = from === undefined ? new Map([[0, new Map()]]) : new Map(from.names);
    this.functions = new Map(from?.functions);
    this.alive = new Map(from?.alive);
    this.peak = new Map(from?.peak);
    this.lamps = new Map(from?.lamps);
    this.stdout = from?.stdout ?? "";
  }

  /** Folds a whole step. */
  applyStep(trace: Trace, step: Step): void {
    for (const event of step.events) this.apply(event);
    for (const [device, peak] of Object.entries(step.peak_bytes)) {
      this.peak.set(device, Math.max(this.peak.get(device) ?? 0, peak));
    }
    const line = trace.statements[step.statement]?.range.line;
    if (line !== undefined && step.lamps.length > 0) {
      const lit = new Set([...(this.lamps.get(line) ?? []), ...step.lamps]);
      this.lamps.set(line, LAYERS.filter((layer) => lit.has(layer)));
    }
  }

  private apply(event: TraceEvent): void {
    switch (event.kind) {
      case "tensor":
        this.tensors.set(event.id, event);
        break;
      case "storage":
        this.describeStorage(event);
        break;
      case "bytes":
        this.replaceStorage(event.storage, { bytes: event });
        break;
      case "values":
        this.values.set(event.tensor, event);
        break;
      case "freed":
        for (const id of event.storages) {
          this.replaceStorage(id, { freed: true, freedLine: event.line, bytes: null });
        }
        break;
      case "gone":
        for (const id of event.tensors) {
          this.tensors.delete(id);
          this.values.delete(id);
        }
        break;
      case "node":
        this.nodes.set(event.id, event);
        break;
      case "saved": {
        const slots = (this.stale.get(event.node) ?? []).filter((slot) => slot !== event.slot);
        this.stale.set(event.node, event.stale ? [...slots, event.slot] : slots);
        break;
      }
      case "saved-freed":
        for (const node of event.nodes) this.savedFreed.add(node);
        break;
      case "names": {
        const roots = new Map(this.names.get(event.frame));
        if (Object.keys(event.paths).length > 0) roots.set(event.root, event.paths);
        else roots.delete(event.root);
        this.names.set(event.frame, roots);
        break;
      }
      case "call":
        this.names.set(event.frame, new Map());
        this.functions.set(event.frame, event.function);
        break;
      case "return":
        this.names.delete(event.frame);
        this.functions.delete(event.frame);
        break;
      case "stdout":
        this.stdout += event.text;
        break;
    }
  }

  private describeStorage(event: Extract<TraceEvent, { kind: "storage" }>): void {
    const { id, nbytes, address, device } = event;
    const before = this.storages.get(id);
    if (before !== undefined && !before.freed) this.count(before.device, -before.nbytes);
    if (before === undefined || !before.freed) this.count(device, nbytes);
    const { bytes, freed, freedLine } = before ?? { bytes: null, freed: false, freedLine: null };
    this.storages.set(id, { id, nbytes, address, device, bytes, freed, freedLine });
  }

  private replaceStorage(id: number, change: Partial<StorageRecord>): void {
    const before = this.storages.get(id);
    if (before === undefined) return;
    if (change.freed === true && !before.freed) this.count(before.device, -before.nbytes);
    this.storages.set(id, { ...before, ...change });
  }

  private count(device: string, nbytes: number): void {
    const now = (this.alive.get(device) ?? 0) + nbytes;
    this.alive.set(device, now);
  }

  /** Names of a frame, each with the id of its live tensor. */
  bindings(frame: number): Map<string, number> {
    const found = new Map<string, number>();
    for (const paths of this.names.get(frame)?.values() ?? []) {
      for (const [path, id] of Object.entries(paths)) if (this.tensors.has(id)) found.set(path, id);
    }
    return found;
  }

  /** Ids of the nodes that a live tensor leads to. */
  liveNodes(): Set<number> {
    const alive = new Set<number>();
    const todo: number[] = [];
    for (const tensor of this.tensors.values()) if (tensor.grad_fn !== null) todo.push(tensor.grad_fn);
    for (let id = todo.pop(); id !== undefined; id = todo.pop()) {
      const node = alive.has(id) ? undefined : this.nodes.get(id);
      if (node === undefined) continue;
      alive.add(id);
      for (const [next] of node.next_functions) if (next !== null) todo.push(next);
    }
    return alive;
  }
}
