/**
 * From when to when each storage and each view of it is there: one pass over a whole trace.
 *
 * What is known of the whole trace lets a picture keep everything in its place from the first step to
 * the last. Steps count from 1; something is there after steps `born` to `gone - 1`. This module does
 * not say where things are drawn (`devices`).
 */
import { Origins } from "../model/origins";
import type { Origin } from "../model/state";
import type { Step, TensorView, Trace } from "../schema/trace.gen";

type TraceEvent = Step["events"][number];

/** A tensor while it looks at one storage. */
export interface ViewLife {
  readonly tensor: number;
  readonly view: TensorView;
  /** The reader's first name for it; null for a tensor nothing was called. */
  readonly name: string | null;
  readonly born: number;
  readonly gone: number;
  /** 1, 2, 3, …: which of the named views of its storage it is, drawn alike for as long as it lives. 0 without a name. */
  readonly mark: number;
}

export interface StorageLife {
  readonly id: number;
  readonly device: string;
  /** The most it ever had. */
  readonly nbytes: number;
  readonly born: number;
  /** Infinity when it outlives the trace. */
  readonly gone: number;
  /** Line of the statement that made it. */
  readonly line: number | null;
  readonly views: readonly ViewLife[];
  /** The first view with a name, else the first: the form and dtype it is drawn in. */
  readonly first: TensorView | null;
  /** Some name led to it. */
  readonly named: boolean;
  /** Base64 of its first and last recorded bytes. */
  readonly samples: readonly string[];
}

/** A copy between devices. */
export interface TransferLife {
  readonly step: number;
  readonly line: number | null;
  readonly source: number;
  readonly target: number;
  readonly from: string;
  readonly to: string;
  readonly sourceName: string | null;
  readonly targetName: string | null;
  /** What made them, where nothing was ever called so. */
  readonly sourceOrigin: Origin | null;
  readonly targetOrigin: Origin | null;
  readonly nbytes: number;
}

export interface Lives {
  /** In the order they came to be. */
  readonly storages: readonly StorageLife[];
  readonly transfers: readonly TransferLife[];
}

type Building<T> = { -readonly [K in keyof T]: T[K] };
type BuildingView = Building<ViewLife>;
type BuildingStorage = Omit<Building<StorageLife>, "views" | "samples"> & { views: BuildingView[]; samples: string[] };

/** Reads the lives of a trace. */
export function livesOf(trace: Trace): Lives {
  const reader = new Reader(trace);
  trace.steps.forEach((step, i) => {
    const line = trace.statements[step.statement]?.range.line ?? null;
    for (const event of step.events) reader.read(event, i + 1, line);
  });
  return reader.lives();
}

class Reader {
  private readonly storages = new Map<number, BuildingStorage>();
  private readonly open = new Map<number, BuildingView>();
  private readonly storageOf = new Map<number, number>();
  private readonly viewOf = new Map<number, TensorView>();
  private readonly gradOf = new Map<number, number>();
  private readonly names = new Map<number, string>();
  private readonly transfers: Building<TransferLife>[] = [];

  constructor(private readonly trace: Trace) {}

  read(event: TraceEvent, step: number, line: number | null): void {
    switch (event.kind) {
      case "storage": {
        const known = this.storages.get(event.id);
        if (known !== undefined) known.nbytes = Math.max(known.nbytes, event.nbytes);
        else this.storages.set(event.id, { ...event, born: step, gone: Infinity, line, views: [], first: null, named: false, samples: [] });
        break;
      }
      case "bytes":
        if (event.data !== null) this.sample(event.storage, event.data);
        break;
      case "freed":
        for (const id of event.storages) this.free(id, step);
        break;
      case "tensor":
        this.tensor(event, step);
        break;
      case "gone":
        for (const id of event.tensors) this.close(id, step);
        break;
      case "names":
        for (const [path, id] of Object.entries(event.paths)) this.name(id, path);
        break;
      case "transfer":
        this.transfer(event, step, line);
        break;
    }
  }

  private sample(storage: number, data: string): void {
    const samples = this.storages.get(storage)?.samples;
    if (samples !== undefined) samples[samples.length === 0 ? 0 : 1] = data;
  }

  private free(id: number, step: number): void {
    const storage = this.storages.get(id);
    if (storage !== undefined) storage.gone = Math.min(storage.gone, step);
  }

  private tensor(event: Extract<TraceEvent, { kind: "tensor" }>, step: number): void {
    const view = this.trace.views[event.view];
    if (view === undefined) return;
    this.viewOf.set(event.id, view);
    if (event.grad !== null) {
      this.gradOf.set(event.id, event.grad);
      const owner = this.names.get(event.id);
      if (owner !== undefined) this.name(event.grad, `${owner}.grad`);
    }
    if (event.storage === this.storageOf.get(event.id) && this.open.has(event.id)) return;
    this.close(event.id, step);
    if (event.storage === null) return;
    const life = { tensor: event.id, view, name: this.names.get(event.id) ?? null, born: step, gone: Infinity, mark: 0 };
    this.storageOf.set(event.id, event.storage);
    this.open.set(event.id, life);
    this.storages.get(event.storage)?.views.push(life);
  }

  private close(id: number, step: number): void {
    const life = this.open.get(id);
    if (life !== undefined) life.gone = step;
    this.open.delete(id);
    this.storageOf.delete(id);
  }

  private name(id: number, path: string): void {
    if (!this.names.has(id)) this.names.set(id, path);
    const life = this.open.get(id);
    if (life !== undefined) life.name ??= path;
    const grad = this.gradOf.get(id);
    if (grad !== undefined && !this.names.has(grad)) this.name(grad, `${path}.grad`);
  }

  private transfer(event: Extract<TraceEvent, { kind: "transfer" }>, step: number, line: number | null): void {
    this.transfers.push({
      step,
      line,
      source: event.source,
      target: event.target,
      from: event.source_device,
      to: event.target_device,
      sourceName: null,
      targetName: null,
      sourceOrigin: null,
      targetOrigin: null,
      nbytes: event.nbytes,
    });
  }

  lives(): Lives {
    let origins: Origins | null = null;
    for (const transfer of this.transfers) {
      // The tensors may have been named after the copy.
      transfer.sourceName = this.names.get(transfer.source) ?? null;
      transfer.targetName = this.names.get(transfer.target) ?? null;
      if (transfer.sourceName !== null && transfer.targetName !== null) continue;
      origins ??= new Origins(this.trace);
      if (transfer.sourceName === null) transfer.sourceOrigin = origins.of(transfer.source);
      if (transfer.targetName === null) transfer.targetOrigin = origins.of(transfer.target);
    }
    for (const storage of this.storages.values()) finish(storage);
    return { storages: [...this.storages.values()], transfers: this.transfers };
  }
}

function finish(storage: BuildingStorage): void {
  const named = storage.views.filter((view) => view.name !== null);
  storage.named = named.length > 0;
  storage.first = (named[0] ?? storage.views[0])?.view ?? null;
  const free: number[] = []; // when each mark is free again
  for (const view of named) {
    let mark = free.findIndex((gone) => gone <= view.born);
    if (mark < 0) mark = free.length;
    free[mark] = Math.max(view.gone, view.born + 1);
    view.mark = mark + 1;
  }
}
