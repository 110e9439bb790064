/**
 * What keeps the bytes that are alive, after every step: names, optimizers, gradients, the graph, nothing known.
 *
 * One pass over a whole trace that only looks again at what an event touched, so that thousands of steps
 * take milliseconds. Which nodes of the graph are alive is counted, not searched: it has no cycles.
 * `kindsAt` says the same of the storages of one state. No DOM, no colour.
 */
import type { Outline } from "../model/outline";
import { UNNAMED_HOLDERS, type State, type StorageNow } from "../model/state";
import type { GraphNode, Step, TensorState, Trace } from "../schema/trace.gen";

/** From the bottom of a stack to its top. Where several keep a storage, see `PRECEDENCE`. */
export const HOLDER_KINDS = ["named", "optimizer", "gradient", "saved", "other"] as const;
export type HolderKind = (typeof HOLDER_KINDS)[number];

/** A gradient is one whatever else it is called, a saved tensor with a name would be there anyway. */
const PRECEDENCE: readonly HolderKind[] = ["gradient", "optimizer", "named", "saved", "other"];

/** `opt.state[model.weight]['exp_avg']` */
const OF_OPTIMIZER = /\.state\[[A-Za-z_].*\]\['\w+'\]$/;
/** `MulBackward0#5.self` */
const OF_NODE = /^\w+#\d+\./;

/** The most that was alive at once, and when. */
export interface Peak {
  readonly bytes: number;
  /** The first step that reached it; 0 when nothing ever was. */
  readonly step: number;
  /** More than after any step: it was reached while that step ran. */
  readonly within: boolean;
}

/** The course of one device. Arrays hold the value after step 0, 1, 2, … */
export interface DeviceHoldings {
  readonly device: string;
  readonly kinds: Readonly<Record<HolderKind, readonly number[]>>;
  readonly total: readonly number[];
  /** Most bytes alive at once while the step ran, never less than after it. */
  readonly within: readonly number[];
  readonly peak: Peak;
}

type TraceEvent = Step["events"][number];
type Course = Record<HolderKind, number[]>;

/** Reads what keeps memory on every device, in the order of the outline. */
export function holdingsOf(trace: Trace, outline: Outline): DeviceHoldings[] {
  const reader = new Reader();
  const courses = new Map<string, Course>();
  trace.steps.forEach((step, index) => {
    for (const event of step.events) reader.read(event);
    for (const [device, bytes] of reader.settle()) {
      const course = courses.get(device) ?? emptyCourse(index + 1);
      courses.set(device, course);
      for (const kind of HOLDER_KINDS) course[kind][index + 1] = bytes[kind];
    }
  });
  return outline.alive.map(({ device, bytes: total }) => {
    const kinds = courses.get(device) ?? emptyCourse(total.length);
    fit(kinds, total);
    const within = total.map((bytes, step) => Math.max(bytes, trace.steps[step - 1]?.peak_bytes[device] ?? 0));
    return { device, kinds, total, within, peak: peakOf(total, within) };
  });
}

/** What keeps a storage, of all storages of a state. */
export function kindsAt(state: State): (storage: StorageNow) => HolderKind {
  const grads = new Set([...state.tensors.values()].map(({ grad }) => grad));
  return ({ heldBy, tensors }) => {
    const found = new Set(heldBy.map(kindOfHolder));
    if (tensors.some((id) => grads.has(id))) found.add("gradient");
    return PRECEDENCE.find((kind) => found.has(kind)) ?? "other";
  };
}

function kindOfHolder(holder: string): HolderKind {
  if (OF_NODE.test(holder)) return "saved";
  if (Object.values(UNNAMED_HOLDERS).includes(holder)) return "other";
  return OF_OPTIMIZER.test(holder) ? "optimizer" : "named";
}

function emptyCourse(length: number): Course {
  return Object.fromEntries(HOLDER_KINDS.map((kind) => [kind, new Array<number>(length).fill(0)])) as Course;
}

/** Memory that several storages lie over counts once: what is too much is taken from the top of the stack. */
function fit(kinds: Course, total: readonly number[]): void {
  for (let step = 0; step < total.length; step += 1) {
    let surplus = HOLDER_KINDS.reduce((sum, kind) => sum + (kinds[kind][step] ??= 0), 0) - (total[step] ?? 0);
    for (let at = HOLDER_KINDS.length - 1; at >= 0 && surplus > 0; at -= 1) {
      const course = kinds[HOLDER_KINDS[at] ?? "other"];
      const less = Math.min(surplus, course[step] ?? 0);
      course[step] = (course[step] ?? 0) - less;
      surplus -= less;
    }
  }
}

function peakOf(total: readonly number[], within: readonly number[]): Peak {
  const bytes = within.reduce((most, each) => Math.max(most, each), 0);
  if (bytes === 0) return { bytes, step: 0, within: false };
  const after = total.indexOf(bytes);
  return after < 0 ? { bytes, step: within.indexOf(bytes), within: true } : { bytes, step: after, within: false };
}

interface Keeping {
  readonly device: string;
  readonly nbytes: number;
  readonly kind: HolderKind;
}

/** Counts who leads where. An entry that falls to nought is forgotten. */
class Counts<K> {
  private readonly counts = new Map<K, number>();

  has(key: K): boolean {
    return this.counts.has(key);
  }

  /** The count after the change. */
  add(key: K, by: number): number {
    const now = (this.counts.get(key) ?? 0) + by;
    if (now === 0) this.counts.delete(key);
    else this.counts.set(key, now);
    return now;
  }
}

class Reader {
  private readonly tensors = new Map<number, TensorState>();
  private readonly viewers = new Map<number, Set<number>>();
  private readonly storages = new Map<number, { device: string; nbytes: number }>();
  private readonly searched = new Map<number, boolean>();
  private readonly frames = new Map<number, Map<string, Readonly<Record<string, number>>>>([[0, new Map()]]);
  /** Tensor id → names that give it, optimizers' apart; tensors with it in `.grad`; nodes it is the variable of. */
  private readonly named = new Counts<number>();
  private readonly optimizer = new Counts<number>();
  private readonly gradient = new Counts<number>();
  private readonly variable = new Counts<number>();
  /** Storage id → slots of living nodes that hold it. */
  private readonly saved = new Counts<number>();
  private readonly nodes = new Map<number, GraphNode>();
  /** Node id → living tensors and nodes that lead to it. */
  private readonly leading = new Counts<number>();
  private readonly living = new Set<number>();
  private readonly released = new Set<number>();
  private readonly dirty = new Set<number>();
  private readonly counted = new Map<number, Keeping>();
  private readonly sums = new Map<string, Record<HolderKind, number>>();

  read(event: TraceEvent): void {
    switch (event.kind) {
      case "tensor":
        this.leave(event.id);
        this.enter(event);
        break;
      case "gone":
        for (const id of event.tensors) this.leave(id);
        break;
      case "storage":
        this.storages.set(event.id, event);
        this.dirty.add(event.id);
        break;
      case "freed":
        for (const id of event.storages) {
          this.storages.delete(id);
          this.searched.delete(id);
          this.dirty.add(id);
        }
        break;
      case "held":
        this.searched.set(event.storage, event.by === "name");
        this.dirty.add(event.storage);
        break;
      case "node":
        if (this.living.has(event.id)) this.follow(event.id, -1);
        this.nodes.set(event.id, event);
        if (this.leading.has(event.id)) this.follow(event.id, 1);
        break;
      case "saved-freed":
        for (const id of event.nodes) {
          if (this.released.has(id)) continue;
          if (this.living.has(id)) this.slots(id, -1);
          this.released.add(id);
          if (this.living.has(id)) this.slots(id, 1);
        }
        break;
      case "names":
        this.names(event.frame, event.root, event.paths);
        break;
      case "call":
        this.forget(event.frame);
        this.frames.set(event.frame, new Map());
        break;
      case "return":
        this.forget(event.frame);
        break;
    }
  }

  /** What each device holds, once all events of a step are read. */
  settle(): ReadonlyMap<string, Readonly<Record<HolderKind, number>>> {
    for (const id of this.dirty) {
      const before = this.counted.get(id);
      if (before !== undefined) this.count(before, -1);
      const storage = this.storages.get(id);
      if (storage === undefined) this.counted.delete(id);
      else {
        const now = { device: storage.device, nbytes: storage.nbytes, kind: this.kind(id) };
        this.counted.set(id, now);
        this.count(now, 1);
      }
    }
    this.dirty.clear();
    return this.sums;
  }

  private count({ device, nbytes, kind }: Keeping, sign: number): void {
    let sums = this.sums.get(device);
    if (sums === undefined) this.sums.set(device, (sums = { named: 0, optimizer: 0, gradient: 0, saved: 0, other: 0 }));
    sums[kind] += sign * nbytes;
  }

  private kind(id: number): HolderKind {
    const viewers = [...(this.viewers.get(id) ?? [])];
    if (viewers.some((tensor) => this.gradient.has(tensor))) return "gradient";
    if (viewers.some((tensor) => this.optimizer.has(tensor))) return "optimizer";
    if (viewers.some((tensor) => this.named.has(tensor))) return "named";
    if (this.saved.has(id) || viewers.some((tensor) => this.variable.has(tensor))) return "saved";
    return this.searched.get(id) === true ? "named" : "other";
  }

  private touch(tensor: number): void {
    const storage = this.tensors.get(tensor)?.storage;
    if (storage != null) this.dirty.add(storage);
  }

  private enter(tensor: TensorState): void {
    const { id, storage, grad, grad_fn } = tensor;
    this.tensors.set(id, tensor);
    if (storage !== null) {
      const viewers = this.viewers.get(storage);
      if (viewers === undefined) this.viewers.set(storage, new Set([id]));
      else viewers.add(id);
    }
    this.touch(id);
    if (grad !== null) this.lead(this.gradient, grad, 1);
    if (grad_fn !== null) this.reach(grad_fn, 1);
  }

  private leave(id: number): void {
    const tensor = this.tensors.get(id);
    if (tensor === undefined) return;
    this.touch(id);
    if (tensor.storage !== null) this.viewers.get(tensor.storage)?.delete(id);
    this.tensors.delete(id);
    if (tensor.grad !== null) this.lead(this.gradient, tensor.grad, -1);
    if (tensor.grad_fn !== null) this.reach(tensor.grad_fn, -1);
  }

  private lead(counts: Counts<number>, tensor: number, by: number): void {
    counts.add(tensor, by);
    this.touch(tensor);
  }

  private names(frame: number, root: string, paths: Readonly<Record<string, number>>): void {
    const roots = this.frames.get(frame) ?? new Map<string, Readonly<Record<string, number>>>();
    this.frames.set(frame, roots);
    this.bind(roots.get(root), -1);
    roots.set(root, paths);
    this.bind(paths, 1);
  }

  private forget(frame: number): void {
    for (const paths of this.frames.get(frame)?.values() ?? []) this.bind(paths, -1);
    this.frames.delete(frame);
  }

  private bind(paths: Readonly<Record<string, number>> | undefined, by: number): void {
    for (const [path, tensor] of Object.entries(paths ?? {})) {
      this.lead(OF_OPTIMIZER.test(path) ? this.optimizer : this.named, tensor, by);
    }
  }

  /** Something begins or ceases to lead to a node. */
  private reach(id: number, by: number): void {
    const now = this.leading.add(id, by);
    if (by > 0 ? now === 1 : now === 0) this.follow(id, by);
  }

  /** A node comes to life or dies, and with it what only it leads to. */
  private follow(first: number, by: number): void {
    const todo = [first];
    for (let id = todo.pop(); id !== undefined; id = todo.pop()) {
      const node = this.nodes.get(id);
      if (node === undefined || this.living.has(id) === by > 0) continue;
      if (by > 0) this.living.add(id);
      this.slots(id, by);
      if (by < 0) this.living.delete(id);
      if (node.variable !== null) this.lead(this.variable, node.variable, by);
      for (const [next] of node.next_functions) {
        if (next === null) continue;
        const now = this.leading.add(next, by);
        if (by > 0 ? now === 1 : now === 0) todo.push(next);
      }
    }
  }

  private slots(id: number, by: number): void {
    const released = this.released.has(id);
    for (const { field, storage } of this.nodes.get(id)?.saved ?? []) {
      // Backward releases a saved tensor; an attribute of a custom function's `ctx` stays.
      if (storage === null || (released && !field.startsWith("ctx."))) continue;
      this.saved.add(storage, by);
      this.dirty.add(storage);
    }
  }
}
