/**
 * A line opened into what it did: its sub-expressions in the order they were evaluated, each with the ops that
 * ran for it and what backward will need of it.
 *
 * `h = x @ W + b` is two rungs: `x @ W`, then `… + b`, where the dots stand for what an earlier rung gave. A call
 * of the program's own functions is one rung: its lines have ladders of their own. Ops that backward runs stand
 * under their nodes. Which names lead where is up to a state; this is only what the trace says of the step.
 */
import type { GraphNode, SourceRange, Step, Trace } from "../schema/trace.gen";
import { pieceOf, type Outline } from "./outline";

type Event = Step["events"][number];

export interface RungOutput {
  readonly tensor: number;
  readonly shape: readonly number[] | null;
  readonly dtype: string | null;
}

export interface RungOp {
  /** `aten::mm`; of a call that dispatched no op its API name. */
  readonly name: string;
  /** `fresh`, `view`, `in-place`, `same`, `failed`, `no-op`, `returned-input`: how its result lies in memory. */
  readonly verdicts: readonly string[];
  readonly inputs: readonly number[];
  readonly outputs: readonly RungOutput[];
}

export interface Rung {
  /** A sub-expression; a call of the program's own function; or a node that backward ran. */
  readonly kind: "piece" | "call" | "node";
  /** The sub-expression, with `…` for what was shown before; the function; the node. */
  readonly text: string;
  readonly range: SourceRange | null;
  /** Of a call: the frame of the called function. */
  readonly frame: number | null;
  readonly ops: readonly RungOp[];
  /** Nodes that it added to the graph, with what they keep for backward. */
  readonly nodes: readonly GraphNode[];
}

interface Open {
  kind: Rung["kind"];
  text: string;
  range: SourceRange | null;
  frame: number | null;
  key: string;
  ops: RungOp[];
  nodes: GraphNode[];
}

const LONGEST = 60;
/** Shorter than this an inner piece stays as it is: dots would say less. */
const SHORT = 4;

export class Ladders {
  private readonly stream: readonly Event[];
  private readonly ends: readonly number[];
  private readonly known = new Map<number, readonly Rung[]>();

  constructor(
    private readonly trace: Trace,
    private readonly outline: Outline,
  ) {
    this.stream = trace.steps.flatMap((step) => step.events);
    let end = 0;
    this.ends = trace.steps.map((step) => (end += step.events.length));
  }

  /** The rungs of a step, in the order they were evaluated. */
  of(step: number): readonly Rung[] {
    let rungs = this.known.get(step);
    if (rungs === undefined) this.known.set(step, (rungs = this.build(step)));
    return rungs;
  }

  private build(number: number): readonly Rung[] {
    const step = this.trace.steps[number - 1];
    const statement = step === undefined ? undefined : this.trace.statements[step.statement];
    if (step === undefined || statement === undefined) return [];
    const open: Open[] = [];
    let depth = 0;
    const rung = (key: string, make: () => Pick<Open, "kind" | "text" | "range" | "frame">): Open => {
      const last = open.at(-1);
      if (last?.key === key) return last;
      const made = { ...make(), key, ops: [], nodes: [] };
      open.push(made);
      return made;
    };
    for (const event of this.stream.slice(step.first_event, this.ends[number - 1])) {
      if (event.kind === "call") {
        if (depth === 0) rung(`call ${event.frame}`, () => ({ kind: "call", text: ownName(event.function), range: null, frame: event.frame }));
        depth += 1;
      } else if (event.kind === "return") depth = Math.max(0, depth - 1);
      else if (depth > 0) continue;
      else if (event.kind === "node") {
        if (event.variable === null && !this.isLeaf(event)) open.at(-1)?.nodes.push(event);
      } else if (event.kind === "op" || event.kind === "api") {
        const { op, range, node } = this.read(event);
        // Called back by a library, it stands on other lines of the program.
        if (range !== null && (range.line < statement.range.line || range.line > statement.range.end_line)) continue;
        const place = range === null ? "" : `${range.line}:${range.column}-${range.end_line}:${range.end_column}`;
        const into = rung(node === null ? `piece ${place}` : `node ${node}`, () => {
          return node === null ? { kind: "piece", text: "", range, frame: null } : { kind: "node", text: node, range, frame: null };
        });
        into.ops.push(op);
      }
    }
    return this.named(open);
  }

  private isLeaf(node: GraphNode): boolean {
    return this.trace.names[node.name] === "AccumulateGrad";
  }

  private read(event: Extract<Event, { kind: "op" | "api" }>): { op: RungOp; range: SourceRange | null; node: string | null } {
    const { names, ranges, sites, views } = this.trace;
    if (event.kind === "api") {
      const outputs = event.outputs.map((tensor) => ({ tensor, shape: null, dtype: null }));
      const verdicts = [event.returned_input ? "returned-input" : "no-op"];
      const op = { name: names[event.api] ?? "", verdicts, inputs: event.inputs, outputs };
      return { op, range: event.range === null ? null : (ranges[event.range] ?? null), node: null };
    }
    const site = sites[event.site];
    const outputs = event.outputs.map((tensor, index) => {
      const view = views[site?.views[index] ?? -1];
      return { tensor, shape: view?.shape ?? null, dtype: view?.dtype ?? null };
    });
    const verdicts = [...new Set(site?.failed === true ? ["failed"] : (site?.verdicts ?? []))];
    const range = site?.range == null ? null : (ranges[site.range] ?? null);
    return {
      op: { name: names[site?.op ?? -1] ?? "", verdicts, inputs: event.inputs, outputs },
      range,
      node: site?.node == null ? null : (names[site.node] ?? null),
    };
  }

  /** Each piece in the words of the program, with dots for pieces of it that stand above. */
  private named(open: readonly Open[]): readonly Rung[] {
    return open.map(({ kind, text, range, frame, ops, nodes }, index) => {
      const before = open.slice(0, index).flatMap((each) => (each.kind === "piece" && each.range !== null ? [each.range] : []));
      return { kind, text: kind === "piece" ? this.text(range, before) : text, range, frame, ops, nodes };
    });
  }

  private text(range: SourceRange | null, before: readonly SourceRange[]): string {
    if (range === null) return "";
    const inner = before.filter((each) => contains(range, each) && !contains(each, range));
    const outermost = inner.filter((each) => !inner.some((other) => contains(other, each) && !contains(each, other)));
    let text = "";
    let from: Place = { line: range.line, column: range.column };
    const end: Place = { line: range.end_line, column: range.end_column };
    for (const each of sorted(outermost)) {
      const start = { line: each.line, column: each.column };
      const stop = { line: each.end_line, column: each.end_column };
      if (after(from, start)) continue;
      const piece = this.between(start, stop);
      text += this.between(from, start) + (piece.length < SHORT ? piece : "…");
      from = stop;
    }
    text = (text + this.between(from, end)).trim().split(/\s+/).join(" ");
    const letters = [...text];
    return letters.length <= LONGEST ? text : `${letters.slice(0, LONGEST - 1).join("")}…`;
  }

  private between(from: Place, to: Place): string {
    const { lines } = this.outline;
    if (from.line === to.line) return pieceOf(lines[from.line - 1] ?? "", from.column, to.column);
    const inside = lines.slice(from.line, to.line - 1);
    return [pieceOf(lines[from.line - 1] ?? "", from.column, Infinity), ...inside, pieceOf(lines[to.line - 1] ?? "", 0, to.column)].join(" ");
  }
}

interface Place {
  readonly line: number;
  readonly column: number;
}

/** `a` is behind `b`. */
function after(a: Place, b: Place): boolean {
  return a.line > b.line || (a.line === b.line && a.column > b.column);
}

function contains(outer: SourceRange, inner: SourceRange): boolean {
  const starts = !after({ line: outer.line, column: outer.column }, { line: inner.line, column: inner.column });
  return starts && !after({ line: inner.end_line, column: inner.end_column }, { line: outer.end_line, column: outer.end_column });
}

function sorted(ranges: readonly SourceRange[]): SourceRange[] {
  const once = new Map(ranges.map((each) => [`${each.line}:${each.column}-${each.end_line}:${each.end_column}`, each]));
  return [...once.values()].sort((a, b) => a.line - b.line || a.column - b.column);
}

function ownName(qualified: string): string {
  return qualified.split("<locals>.").at(-1) ?? qualified;
}
