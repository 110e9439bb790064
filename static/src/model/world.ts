/**
 * Everything the events of a trace have said so far: what they are folded into.
 *
 * Twin of `World` in `app/schema/replay.py`. It holds records as they came; `history.ts` makes the
 * state that views read. Entries are replaced, never changed, so that a copy of the maps is a
 * snapshot.
 */
import type { GraphNode, Step, StorageBytes, StorageHeld, StorageTiles, TensorState, TensorTrait, TensorValues, Trace } from "../schema/trace.gen";
import { LAYERS, type Layer } from "./state";

export type TraceEvent = Step["events"][number];

/** A storage as events described it. `bytes` is the event that brought its bytes. */
export interface StorageRecord {
  readonly id: number;
  readonly nbytes: number;
  readonly address: string;
  readonly device: string;
  readonly bytes: StorageBytes | null;
  /** The event that told its tiles last. */
  readonly tiles: StorageTiles | null;
  readonly freed: boolean;
  readonly freedLine: number | null;
}

/** Variable → the expressions that start with it → tensor id. */
export type Roots = ReadonlyMap<string, Readonly<Record<string, number>>>;

export class World {
  readonly tensors: Map<number, TensorState>;
  readonly storages: Map<number, StorageRecord>;
  /** Those of them not freed. */
  private readonly living: Map<number, StorageRecord>;
  readonly values: Map<number, TensorValues>;
  readonly traits: Map<number, readonly TensorTrait[]>;
  readonly nodes: Map<number, GraphNode>;
  /** Node id → slots of its saved tensors that went stale. */
  readonly stale: Map<number, readonly number[]>;
  readonly savedFreed: Set<number>;
  readonly names: Map<number, Roots>;
  readonly functions: Map<number, string>;
  readonly peak: Map<string, number>;
  readonly lamps: Map<number, readonly Layer[]>;
  /** Storage id → what a search for its holders found, of storages that nothing else accounts for. */
  readonly searched: Map<number, StorageHeld>;
  /** Storage id → the first tensor that looked at it, or that a node saved of it. */
  readonly firstOn: Map<number, number>;
  stdout: string;

  constructor(from?: World) {
    this.tensors = new Map(from?.tensors);
    this.storages = new Map(from?.storages);
    this.living = new Map(from?.living);
    this.values = new Map(from?.values);
    this.traits = new Map(from?.traits);
    this.nodes = new Map(from?.nodes);
    this.stale = new Map(from?.stale);
    this.savedFreed = new Set(from?.savedFreed);
    this.names = from === undefined ? new Map([[0, new Map()]]) : new Map(from.names);
    this.functions = new Map(from?.functions);
    this.peak = new Map(from?.peak);
    this.lamps = new Map(from?.lamps);
    this.searched = new Map(from?.searched);
    this.firstOn = new Map(from?.firstOn);
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
        this.seeOn(event.storage, event.id);
        break;
      case "storage":
        this.describeStorage(event);
        break;
      case "bytes":
        this.replaceStorage(event.storage, { bytes: event });
        break;
      case "tiles":
        this.replaceStorage(event.storage, { tiles: event });
        break;
      case "values":
        this.values.set(event.tensor, event);
        break;
      case "traits":
        this.traits.set(event.tensor, event.traits);
        break;
      case "freed":
        for (const id of event.storages) {
          this.replaceStorage(id, { freed: true, freedLine: event.line, bytes: null, tiles: null });
          this.searched.delete(id);
        }
        break;
      case "held":
        this.searched.set(event.storage, event);
        break;
      case "gone":
        for (const id of event.tensors) {
          this.tensors.delete(id);
          this.values.delete(id);
          this.traits.delete(id);
        }
        break;
      case "node":
        this.nodes.set(event.id, event);
        for (const { storage, tensor } of event.saved) if (tensor !== null) this.seeOn(storage, tensor);
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

  private seeOn(storage: number | null, tensor: number): void {
    if (storage !== null && !this.firstOn.has(storage)) this.firstOn.set(storage, tensor);
  }

  private describeStorage(event: Extract<TraceEvent, { kind: "storage" }>): void {
    const { id, nbytes, address, device } = event;
    const before = this.storages.get(id);
    const { bytes, tiles, freed, freedLine } = before ?? { bytes: null, tiles: null, freed: false, freedLine: null };
    this.put({ id, nbytes, address, device, bytes, tiles, freed, freedLine });
  }

  private replaceStorage(id: number, change: Partial<StorageRecord>): void {
    const before = this.storages.get(id);
    if (before === undefined) return;
    this.put({ ...before, ...change });
  }

  private put(storage: StorageRecord): void {
    this.storages.set(storage.id, storage);
    if (storage.freed) this.living.delete(storage.id);
    else this.living.set(storage.id, storage);
  }

  /** Bytes of storages not freed, per device; memory that several storages lie over counts once. */
  aliveBytes(): Map<string, number> {
    const alive = new Map<string, number>();
    const reached = new Map<string, number>();
    const places = [...this.living.values()].map((storage) => ({ storage, start: Number(storage.address) }));
    for (const { storage, start } of places.sort((a, b) => a.start - b.start)) {
      const end = start + storage.nbytes;
      const known = start === 0 ? 0 : (reached.get(storage.device) ?? 0);
      alive.set(storage.device, (alive.get(storage.device) ?? 0) + Math.max(0, end - Math.max(start, known)));
      if (start !== 0) reached.set(storage.device, Math.max(end, known));
    }
    return alive;
  }

  /** The number a saved tensor was made from; null when it was a tensor all along. */
  scalar(tensor: number | null): string | null {
    const traits = tensor === null ? [] : (this.traits.get(tensor) ?? []);
    const value = traits.find(({ id }) => id === "scalar")?.args["value"];
    return typeof value === "string" ? value : null;
  }

  /** Most bytes alive at once so far, per device; what was made unheard counts from now on. */
  peakBytes(): Map<string, number> {
    const peak = new Map(this.peak);
    for (const [device, n] of this.aliveBytes()) peak.set(device, Math.max(n, peak.get(device) ?? 0));
    return peak;
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
