/**
 * A step's backward passes, node by node: what arrived at each node, what it made, where that went.
 *
 * The trace tells the nodes that ran ops, in the engine's order, and the tensors of their ops. A node that
 * hands on what it gets runs none: it is put before the first node that its gradient is seen to arrive at.
 * Pure; nothing is guessed: a gradient that no later op reads has no target. No DOM.
 */
import type { GraphNode, Step, Trace } from "../schema/trace.gen";

export type TraceEvent = Step["events"][number];

/** A tensor on its way through a pass. */
export interface Gradient {
  readonly tensor: number;
  readonly shape: readonly number[] | null;
  /** Nested list of a small one that was read. */
  readonly values: unknown;
  readonly norm: number | string | null;
  /** The node that made it; null for the engine and for what came from outside. */
  readonly from: number | null;
  /** What the engine added up to it, when a node's gradient arrived on several ways. */
  readonly parts: readonly Gradient[];
}

/** What a leaf's node did with `.grad`. */
export interface Filled {
  /** `taken`: the gradient itself became `.grad`; `added`: to what was there. */
  readonly how: "taken" | "added";
  readonly grad: Gradient;
  /** The tensor in `.grad` before. */
  readonly before: number | null;
}

/** One node's turn. */
export interface Turn {
  readonly node: number;
  /** Number of its pass, from 1 in the trace. */
  readonly pass: number;
  /** It ran no op: it hands on what it gets. */
  readonly silent: boolean;
  readonly received: readonly Gradient[];
  readonly sent: readonly { readonly gradient: Gradient; readonly to: number }[];
  /** Names of its ops. */
  readonly ops: readonly string[];
  readonly filled: Filled | null;
  /** Edges that the gradients it received came along, as pairs of nodes. */
  readonly along: readonly (readonly [number, number])[];
}

type Building = { -readonly [K in keyof Turn]: Turn[K] extends readonly (infer E)[] ? E[] : Turn[K] };
type Nodes = ReadonlyMap<number, Pick<GraphNode, "next_functions" | "variable">>;

const SUM = /^aten::add_?\.Tensor$/;
const ACCUMULATE = /^aten::(add|_foreach_add)_?[._]/;

/**
 * The turns of all passes of a step, in order.
 *
 * `gradFnOf` says which node made a tensor: where a pass begins.
 */
export function turnsOf(trace: Trace, events: readonly TraceEvent[], nodes: Nodes, gradFnOf: (tensor: number) => number | null): Turn[] {
  return new Reader(trace, nodes, gradFnOf, events).read();
}

class Reader {
  private readonly turns: Building[] = [];
  /** Pass and node → its turn. */
  private readonly known = new Map<string, Building>();
  /** Tensor → what it is, and the pass that made it; null for what came from outside. */
  private readonly made = new Map<number, { readonly gradient: Gradient; readonly pass: number | null }>();
  private readonly ran: ReadonlySet<string>;
  private current: Building | null = null;
  private pass = 0;
  private root: number | null = null;

  constructor(
    private readonly trace: Trace,
    private readonly nodes: Nodes,
    private readonly gradFnOf: (tensor: number) => number | null,
    private readonly events: readonly TraceEvent[],
  ) {
    this.ran = new Set(events.flatMap((event) => (event.kind === "ran" && event.node !== null ? [`${event.task} ${event.node}`] : [])));
  }

  read(): Turn[] {
    this.events.forEach((event, i) => {
      if (event.kind === "ran") {
        this.pass = event.task;
        this.current = event.node === null ? null : this.turn(event.node, false);
      } else if (event.kind === "op") this.op(event, i);
    });
    return this.turns;
  }

  private turn(node: number, silent: boolean): Building {
    const key = `${this.pass} ${node}`;
    let turn = this.known.get(key);
    if (turn === undefined) {
      turn = { node, pass: this.pass, silent, received: [], sent: [], ops: [], filled: null, along: [] };
      this.known.set(key, turn);
      this.turns.push(turn);
    }
    return turn;
  }

  private op(event: Extract<TraceEvent, { kind: "op" }>, at: number): void {
    const { current, made, trace } = this;
    const site = trace.sites[event.site];
    if (site === undefined) return;
    const name = trace.names[site.op] ?? "";
    const outputs = event.outputs.map((tensor, i) => this.gradient(tensor, site.views[i], at));
    if (current === null) {
      const ones = name === "aten::ones_like";
      if (ones) this.root = this.gradFnOf(event.inputs[0] ?? -1);
      this.keep(outputs.map((output) => (ones && output.shape?.length === 0 ? { ...output, values: 1, norm: 1 } : output)), null);
      return;
    }
    const parts = event.inputs.flatMap((tensor) => {
      const known = made.get(tensor);
      return known !== undefined && (known.pass === null || known.pass === this.pass) ? [known.gradient] : [];
    });
    const leaf = (this.nodes.get(current.node)?.variable ?? null) !== null;
    const foreign = parts.filter((each) => each.from !== current.node);
    if (!leaf && SUM.test(name) && parts.length === 2 && foreign.length === 1 && foreign[0]?.from != null && alike(parts)) {
      const all = parts.flatMap((each) => (each.parts.length > 0 ? each.parts : [each]));
      this.keep(outputs.map((output) => ({ ...output, parts: all })), this.pass);
      return;
    }
    current.ops.push(name);
    const added = leaf && ACCUMULATE.test(name) && event.inputs.length > 1;
    for (const gradient of added ? foreign.filter(({ tensor }) => tensor !== event.inputs[0]) : foreign) this.receive(current, gradient);
    const [result] = outputs;
    if (leaf && result !== undefined) current.filled = { how: added ? "added" : "taken", grad: result, before: added ? (event.inputs[0] ?? null) : null };
    this.keep(outputs, this.pass);
  }

  private keep(gradients: readonly Gradient[], pass: number | null): void {
    for (const gradient of gradients) this.made.set(gradient.tensor, { gradient, pass });
  }

  private receive(turn: Building, gradient: Gradient): void {
    if (turn.received.some(({ tensor }) => tensor === gradient.tensor)) return;
    turn.received.push(gradient);
    for (const part of gradient.parts.length > 0 ? gradient.parts : [gradient]) {
      const from = part.from ?? this.root;
      if (from === null || from === turn.node) continue;
      const way = this.way(from, turn.node);
      const source = this.known.get(`${turn.pass} ${from}`);
      const to = way[1] ?? turn.node;
      if (source !== undefined && !source.sent.some((sent) => sent.to === to && sent.gradient.tensor === part.tensor)) source.sent.push({ gradient: part, to });
      this.walk(way, turn, part);
    }
  }

  /** Marks the edges of a way, and the silent nodes on it before the turn at its end. */
  private walk(way: readonly number[], turn: Building, gradient: Gradient): void {
    way.forEach((node, i) => {
      const next = way[i + 1];
      if (next === undefined) return;
      const key = `${turn.pass} ${node}`;
      if (i > 0 || gradient.from === null) {
        let silent = this.known.get(key);
        if (silent === undefined) {
          silent = { node, pass: turn.pass, silent: true, received: [gradient], sent: [], ops: [], filled: null, along: [] };
          this.known.set(key, silent);
          this.turns.splice(this.turns.indexOf(turn), 0, silent);
          const before = way[i - 1];
          if (before !== undefined) silent.along.push([before, node]);
        }
        if (silent.silent && !silent.sent.some(({ to }) => to === next)) silent.sent.push({ gradient, to: next });
      }
      if (next === turn.node) turn.along.push([node, next]);
    });
  }

  /** The shortest way between two nodes, through nodes that run no op in this pass. */
  private way(from: number, to: number): number[] {
    if (from === to) return [];
    const back = new Map<number, number>([[from, from]]);
    const todo = [from];
    for (const node of todo) {
      for (const [next] of this.nodes.get(node)?.next_functions ?? []) {
        if (next === null || back.has(next)) continue;
        back.set(next, node);
        if (next === to) {
          const way = [to];
          for (let at = to; at !== from; way.unshift(at)) at = back.get(at) ?? from;
          return way;
        }
        if (!this.ran.has(`${this.pass} ${next}`)) todo.push(next);
      }
    }
    return [];
  }

  private gradient(tensor: number, view: number | undefined, at: number): Gradient {
    let [values, norm]: [unknown, number | string | null] = [null, null];
    // What was read of an op's results stands before the next op.
    for (let i = at + 1; ; i += 1) {
      const event = this.events[i];
      if (event === undefined || event.kind === "op" || event.kind === "ran") break;
      if (event.kind === "gradient" && event.tensor === tensor) ({ values, norm } = event);
    }
    const shape = view === undefined ? null : (this.trace.views[view]?.shape ?? null);
    return { tensor, shape, values, norm, from: this.current?.node ?? null, parts: [] };
  }
}

function alike(gradients: readonly Gradient[]): boolean {
  const [first] = gradients;
  return first !== undefined && gradients.every(({ shape }) => String(shape) === String(first.shape));
}
