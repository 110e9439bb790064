/**
 * The autograd graph of a whole trace, as a picture reveals it: its nodes, and paths of its edges.
 *
 * Coordinates come from Python (`app/drawing/autograd.py`); nothing is placed here. No DOM.
 */
import type { EdgeDrawing, GraphNode, Trace } from "../schema/trace.gen";

/** A node as its event described it, with what it was called by then or later. */
export interface NodeFacts {
  readonly id: number;
  readonly name: string;
  /** Its name in the unobserved run, if watching changed it. */
  readonly plain: string | null;
  readonly line: number | null;
  readonly leaf: boolean;
  /** The reader's name for the leaf of an AccumulateGrad. */
  readonly leafName: string | null;
  readonly event: GraphNode;
  readonly step: number;
  /** What stands below the name, of a box that is no node. */
  readonly about?: string;
}

/** All nodes of a trace by id. */
export function nodesOf(trace: Trace): ReadonlyMap<number, NodeFacts> {
  const found = new Map<number, NodeFacts>();
  const names = new Map<number, string>();
  const globals = new Map<number, string>();
  const storages = new Map<number, number>();
  const held = new Map<number, string>();
  const plain = new Map(trace.comparison.nodes.map(({ node, name }) => [node, name] as const));
  trace.steps.forEach((step, i) => {
    for (const event of step.events) {
      if (event.kind === "names") {
        // Of the module rather than of a function: `net.head.bias`, not `self.bias`.
        const known = event.frame === 0 ? globals : names;
        for (const [path, id] of Object.entries(event.paths)) if (!known.has(id)) known.set(id, path);
      }
      // A leaf that only an optimizer or a closure leads to is called as that reaches it.
      if (event.kind === "tensor" && event.storage !== null) storages.set(event.id, event.storage);
      if (event.kind === "held" && event.holders[0] !== undefined) held.set(event.storage, event.holders[0]);
      if (event.kind !== "node") continue;
      const known = found.get(event.id);
      found.set(event.id, {
        id: event.id,
        name: trace.names[event.name] ?? "",
        plain: plain.get(event.id) ?? null,
        line: event.line,
        leaf: event.variable !== null,
        leafName: null,
        event,
        step: known?.step ?? i + 1,
      });
    }
  });
  for (const [id, node] of found) {
    if (node.event.variable !== null) found.set(id, { ...node, leafName: globals.get(node.event.variable) ?? names.get(node.event.variable) ?? held.get(storages.get(node.event.variable) ?? -1) ?? null });
  }
  return found;
}

const CORNER = 8;

/** An SVG path along an edge's points with rounded corners; the last `back` pixels are left to an arrowhead. */
export function edgePath({ points }: Pick<EdgeDrawing, "points">, back = 0): string {
  const way = points.map(([x, y]) => ({ x, y }));
  const last = way.at(-1);
  const before = way.at(-2);
  if (last !== undefined && before !== undefined && back > 0) way[way.length - 1] = toward(last, before, back);
  return way
    .map((point, i) => {
      if (i === 0) return `M${text(point)}`;
      const from = way[i - 1];
      const to = way[i + 1];
      if (from === undefined || to === undefined) return `L${text(point)}`;
      return `L${text(toward(point, from, CORNER))}Q${text(point)} ${text(toward(point, to, CORNER))}`;
    })
    .join("");
}

interface Spot {
  readonly x: number;
  readonly y: number;
}

/** From one point towards another, at most half the way. */
function toward(from: Spot, to: Spot, distance: number): Spot {
  const length = Math.hypot(to.x - from.x, to.y - from.y);
  const share = length === 0 ? 0 : Math.min(0.5, distance / length);
  return { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share };
}

const text = ({ x, y }: Spot): string => `${Math.round(x * 10) / 10} ${Math.round(y * 10) / 10}`;
