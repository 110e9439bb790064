/**
 * A trace → the state after any step: a pure fold, made quick by snapshots along the way.
 *
 * Twin of `app/schema/replay.py`. It derives what is not recorded: which graph nodes are alive, who
 * holds a storage, how tensors are called. Values are not decoded here; a state carries bytes.
 */
import type { Step, StorageBytes, StorageTiles, TensorView, Trace, TileGrid } from "../schema/trace.gen";
import { Origins } from "./origins";
import { UNNAMED_HOLDERS, type ApiNow, type NodeNow, type OpNow, type Origin, type State, type StorageNow, type TensorNow } from "./state";
import { World, type StorageRecord, type TraceEvent } from "./world";

/** Snapshots per trace: enough that a jump folds a small part, few enough to stay small. */
const SNAPSHOTS = 32;

export class History {
  /** How many steps there are. */
  readonly steps: number;
  private readonly snapshots = new Map<number, World>();
  private readonly every: number;
  private readonly firstEvents: readonly number[];
  private readonly stream: readonly TraceEvent[];
  private readonly bytesOf: Told<StorageBytes>;
  private readonly tilesOf: Told<StorageTiles>;
  /** Site → the library its ops run inside. */
  private readonly insides: ReadonlyMap<number, string>;
  private readonly origins: Origins;
  private cursor = new World();
  private at = 0;
  private last: State | null = null;

  constructor(readonly trace: Trace) {
    this.steps = trace.steps.length;
    this.every = Math.max(16, Math.ceil(this.steps / SNAPSHOTS));
    this.stream = trace.steps.flatMap((step) => step.events);
    this.firstEvents = running(trace.steps.map((step) => step.events.length));
    this.bytesOf = told(this.stream, "bytes");
    this.tilesOf = told(this.stream, "tiles");
    this.insides = new Map(this.stream.flatMap((event) => (event.kind === "inside" ? [[event.site, event.module]] : [])));
    this.origins = new Origins(trace);
    this.snapshots.set(0, new World());
  }

  /** The state after `step` steps; 0 is before the first. */
  state(step: number): State {
    if (!Number.isInteger(step) || step < 0 || step > this.steps) {
      throw new RangeError(`There is no step ${step}: the trace has steps 0 to ${this.steps}.`);
    }
    if (this.last?.step !== step) this.last = this.read(step, this.fold(step));
    return this.last;
  }

  private fold(step: number): World {
    if (step < this.at || step - this.at > this.every) this.rewind(step);
    for (; this.at < step; ) {
      const next = this.trace.steps[this.at];
      if (next !== undefined) this.cursor.applyStep(this.trace, next);
      this.at += 1;
      if (this.at % this.every === 0 && !this.snapshots.has(this.at)) {
        this.snapshots.set(this.at, new World(this.cursor));
      }
    }
    return this.cursor;
  }

  /** Puts the cursor on the nearest snapshot at or before `step`, unless it is nearer itself. */
  private rewind(step: number): void {
    let nearest = step - (step % this.every);
    while (!this.snapshots.has(nearest)) nearest -= this.every;
    if (this.at <= step && this.at >= nearest) return;
    this.cursor = new World(this.snapshots.get(nearest));
    this.at = nearest;
  }

  private read(step: number, world: World): State {
    const here = step === 0 ? undefined : this.trace.steps[step - 1];
    const frame = here?.frame ?? 0;
    const live = world.liveNodes();
    const names = namesOf(world, frame);
    const holders = heldBy(world, live, this.trace);
    const own = here === undefined ? [] : this.ownEvents(here, step);
    return {
      step,
      line: here === undefined ? null : (this.trace.statements[here.statement]?.range.line ?? null),
      frame,
      depth: here?.depth ?? 0,
      bindings: world.bindings(0),
      locals: frame === 0 ? new Map() : world.bindings(frame),
      tensors: this.tensors(world, names),
      storages: storages(world, holders, scalars(world, live), this.origins),
      nodes: this.nodes(world, live),
      alive: world.aliveBytes(),
      peak: world.peakBytes(),
      stdout: world.stdout,
      ops: this.ops(own),
      apiCalls: this.apiCalls(own),
      written: here === undefined ? new Map() : before(own, here.first_event, "bytes", this.bytesOf, decode),
      retiled: here === undefined ? new Map() : before(own, here.first_event, "tiles", this.tilesOf, ({ grid }): TileGrid | null => grid),
      lamps: new Map(world.lamps),
    };
  }

  /** Events of a step and of the calls it made. */
  private ownEvents(step: Step, number: number): readonly TraceEvent[] {
    return this.stream.slice(step.first_event, this.firstEvents[number]);
  }

  private tensors(world: World, names: ReadonlyMap<number, readonly string[]>): ReadonlyMap<number, TensorNow> {
    const found = new Map<number, TensorNow>();
    for (const [id, tensor] of world.tensors) {
      const view = this.trace.views[tensor.view];
      if (view === undefined) continue;
      const extra = world.values.get(id);
      found.set(id, {
        id,
        view: view satisfies TensorView,
        storage: tensor.storage,
        version: tensor.version,
        gradFn: tensor.grad_fn,
        grad: tensor.grad,
        quantizer: tensor.quantizer,
        traits: world.traits.get(id) ?? [],
        names: names.get(id) ?? [],
        origin: this.origins.of(id),
        values: extra === undefined || extra.values === null ? undefined : extra.values,
        summary: extra?.summary ?? null,
      });
    }
    return found;
  }

  private nodes(world: World, live: ReadonlySet<number>): ReadonlyMap<number, NodeNow> {
    const found = new Map<number, NodeNow>();
    for (const id of [...live].sort((a, b) => a - b)) {
      const node = world.nodes.get(id);
      if (node === undefined) continue;
      const freed = world.savedFreed.has(id);
      const stale = world.stale.get(id) ?? [];
      found.set(id, {
        id,
        name: this.trace.names[node.name] ?? "",
        line: node.line,
        nextFunctions: node.next_functions,
        variable: node.variable,
        saved: node.saved.map(({ field, tensor, storage, version }, slot) => {
          const gone = freed && isReleased(field);
          return { field, tensor, storage, version, stale: stale.includes(slot) && !gone, freed: gone, scalar: world.scalar(tensor), origin: this.origins.of(tensor) };
        }),
      });
    }
    return found;
  }

  private ops(own: readonly TraceEvent[]): readonly OpNow[] {
    const { names, ranges, sites } = this.trace;
    const ops: OpNow[] = [];
    for (const event of own) {
      const site = event.kind === "op" ? sites[event.site] : undefined;
      if (event.kind !== "op" || site === undefined) continue;
      ops.push({
        op: names[site.op] ?? "",
        api: site.api === null ? null : (names[site.api] ?? null),
        range: site.range === null ? null : (ranges[site.range] ?? null),
        inputs: event.inputs,
        outputs: event.outputs,
        verdicts: site.verdicts,
        node: site.node === null ? null : (names[site.node] ?? null),
        inside: this.insides.get(event.site) ?? null,
        route: site.route ?? null,
        failed: site.failed,
      });
    }
    return ops;
  }

  private apiCalls(own: readonly TraceEvent[]): readonly ApiNow[] {
    const { names, ranges } = this.trace;
    const calls: ApiNow[] = [];
    for (const event of own) {
      if (event.kind !== "api") continue;
      calls.push({
        api: names[event.api] ?? "",
        range: event.range === null ? null : (ranges[event.range] ?? null),
        inputs: event.inputs,
        outputs: event.outputs,
        returnedInput: event.returned_input,
      });
    }
    return calls;
  }
}

/** Storage id → what was told of it, each with its place in the stream. */
type Told<T> = ReadonlyMap<number, readonly (readonly [number, T])[]>;

/** Storages that were there when the step began and are told of anew in it, with what was told before. */
function before<K extends "bytes" | "tiles", T>(own: readonly TraceEvent[], began: number, kind: K, known: Told<OfKind<K>>, read: (event: OfKind<K>) => T): ReadonlyMap<number, T> {
  const found = new Map<number, T>();
  for (const event of own) {
    if ((event.kind !== "bytes" && event.kind !== "tiles") || event.kind !== kind || event.late || found.has(event.storage)) continue;
    const last = known.get(event.storage)?.findLast(([index]) => index < began)?.[1];
    if (last !== undefined) found.set(event.storage, read(last));
  }
  return found;
}

type OfKind<K extends "bytes" | "tiles"> = { readonly bytes: StorageBytes; readonly tiles: StorageTiles }[K];

/** 0, a, a + b, … */
function running(counts: readonly number[]): number[] {
  const sums = [0];
  for (const count of counts) sums.push((sums.at(-1) ?? 0) + count);
  return sums;
}

function told<K extends "bytes" | "tiles">(stream: readonly TraceEvent[], kind: K): Told<OfKind<K>> {
  const found = new Map<number, (readonly [number, OfKind<K>])[]>();
  stream.forEach((event, index) => {
    if (event.kind !== kind) return;
    const own = event as OfKind<K>;
    const list = found.get(own.storage);
    if (list === undefined) found.set(own.storage, [[index, own]]);
    else list.push([index, own]);
  });
  return found;
}

const decoded = new WeakMap<StorageBytes, Uint8Array | null>();

function decode(event: StorageBytes): Uint8Array | null {
  let bytes = decoded.get(event);
  if (bytes === undefined) {
    bytes = event.data === null ? null : Uint8Array.from(atob(event.data), (char) => char.charCodeAt(0));
    decoded.set(event, bytes);
  }
  return bytes;
}

/** A storage of a state. Its bytes are decoded when a view asks for them. */
class StorageState implements StorageNow {
  readonly id: number;
  readonly nbytes: number;
  readonly address: string;
  readonly device: string;
  readonly freed: boolean;
  readonly freedLine: number | null;

  constructor(
    private readonly record: StorageRecord,
    readonly tensors: readonly number[],
    readonly heldBy: readonly string[],
    readonly scalar: string | null,
    readonly origin: Origin | null,
  ) {
    this.id = record.id;
    this.nbytes = record.nbytes;
    this.address = record.address;
    this.device = record.device;
    this.freed = record.freed;
    this.freedLine = record.freedLine;
  }

  get bytes(): Uint8Array | null {
    return this.record.bytes === null ? null : decode(this.record.bytes);
  }

  get tiles(): TileGrid | null {
    return this.record.tiles?.grid ?? null;
  }
}

const freedStorages = new WeakMap<StorageRecord, StorageNow>();

function storages(world: World, holders: ReadonlyMap<number, readonly string[]>, numbers: ReadonlyMap<number, string>, origins: Origins): ReadonlyMap<number, StorageNow> {
  const views = new Map<number, number[]>();
  for (const { id, storage } of world.tensors.values()) {
    if (storage === null) continue;
    const list = views.get(storage);
    if (list === undefined) views.set(storage, [id]);
    else list.push(id);
  }
  const found = new Map<number, StorageNow>();
  for (const [id, record] of world.storages) {
    const known = freedStorages.get(record);
    const now = known ?? new StorageState(record, views.get(id) ?? [], holders.get(id) ?? [], numbers.get(id) ?? null, origins.of(world.firstOn.get(id) ?? null));
    if (record.freed && known === undefined && !views.has(id)) freedStorages.set(record, now);
    found.set(id, now);
  }
  return found;
}

/** Storage id → the number that nodes keep in it. */
function scalars(world: World, live: ReadonlySet<number>): ReadonlyMap<number, string> {
  const found = new Map<number, string>();
  for (const id of live) {
    for (const { storage, tensor } of world.nodes.get(id)?.saved ?? []) {
      const scalar = world.scalar(tensor);
      if (storage !== null && scalar !== null) found.set(storage, scalar);
    }
  }
  return found;
}

/** Storage id → who keeps it: names, `.grad` of names, graph nodes; else what a search found. */
function heldBy(world: World, live: ReadonlySet<number>, trace: Trace): ReadonlyMap<number, readonly string[]> {
  const holders = new Map<number, string[]>();
  const hold = (storage: number | null | undefined, holder: string): void => {
    if (storage === null || storage === undefined) return;
    const list = holders.get(storage);
    if (list === undefined) holders.set(storage, [holder]);
    else list.push(holder);
  };
  for (const frame of world.names.keys()) {
    const place = frame === 0 ? "" : `${ownName(world.functions.get(frame) ?? "?")}: `;
    for (const [path, id] of world.bindings(frame)) {
      const tensor = world.tensors.get(id);
      hold(tensor?.storage, place + path);
      const grad = tensor?.grad ?? null;
      if (grad !== null) hold(world.tensors.get(grad)?.storage, `${place}${path}.grad`);
    }
  }
  for (const id of [...live].sort((a, b) => a - b)) {
    const node = world.nodes.get(id);
    if (node === undefined) continue;
    const freed = world.savedFreed.has(id);
    for (const slot of node.saved) {
      if (freed && isReleased(slot.field)) continue;
      hold(slot.storage, `${trace.names[node.name] ?? ""}#${id}.${slot.field}`);
    }
    if (node.variable !== null) hold(world.tensors.get(node.variable)?.storage, `${trace.names[node.name] ?? ""}#${id}.variable`);
  }
  for (const [id, { by, holders: found }] of world.searched) {
    if (!holders.has(id)) holders.set(id, found.length > 0 ? [...found] : [UNNAMED_HOLDERS[by] ?? ""]);
  }
  return holders;
}

/** A function's name without the functions it is defined in: `add` of `make.<locals>.add`. */
function ownName(qualified: string): string {
  return qualified.split("<locals>.").at(-1) ?? qualified;
}

/** Backward releases a saved tensor of this name; an attribute of a custom function's `ctx` stays. */
function isReleased(field: string): boolean {
  return !field.startsWith("ctx.");
}

/** Tensor id → expressions that give it: of the innermost frame, of the module, else of a caller. */
function namesOf(world: World, frame: number): ReadonlyMap<number, readonly string[]> {
  const here = collect(world, frame === 0 ? [0] : [frame, 0]);
  const elsewhere = collect(world, [...world.names.keys()].reverse());
  for (const [id, names] of elsewhere) if (!here.has(id)) here.set(id, names);
  for (const names of here.values()) names.sort((a, b) => a.length - b.length);
  return here;
}

function collect(world: World, frames: readonly number[]): Map<number, string[]> {
  const found = new Map<number, string[]>();
  const call = (id: number, name: string): void => {
    const list = found.get(id);
    if (list === undefined) found.set(id, [name]);
    else if (!list.includes(name)) list.push(name);
  };
  for (const frame of frames) for (const [path, id] of world.bindings(frame)) call(id, path);
  for (const frame of frames) {
    for (const [path, id] of world.bindings(frame)) {
      const grad = world.tensors.get(id)?.grad ?? null;
      if (grad !== null && world.tensors.has(grad)) call(grad, `${path}.grad`);
    }
  }
  return found;
}

