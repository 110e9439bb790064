/**
 * What `torch.compile` did in a run: its compilations in the order of the steps, and which of them a step
 * made or ran.
 */
import type { Compilation, FxDrawing, FxGraph, SourceRange, Trace } from "../schema/trace.gen";

export interface Compiled {
  readonly facts: Compilation;
  /** The step in which it was compiled. */
  readonly step: number;
  /** Steps in which its code ran, with the number of runs in each. */
  readonly runs: ReadonlyMap<number, number>;
}

/** One graph of a compilation, with its place on paper if it has one. */
export interface DrawnGraph {
  readonly graph: FxGraph;
  readonly drawing: FxDrawing["drawing"] | null;
}

/** All compilations of a trace. */
export function compilationsOf(trace: Trace): readonly Compiled[] {
  const found: { facts: Compilation; step: number; runs: Map<number, number> }[] = [];
  const byId = new Map<string, (typeof found)[number]>();
  let position = 0;
  const openings: { number: number; event: number }[] = [];
  trace.steps.forEach((step, index) => {
    for (const event of step.events) {
      if (event.kind === "compiled") {
        const entry = { facts: event, step: index + 1, runs: new Map<number, number>() };
        found.push(entry);
        byId.set(event.id, entry);
        openings.push({ number: found.length - 1, event: position });
      } else if (event.kind === "compiled-run") {
        const runs = byId.get(event.compilation)?.runs;
        const at = stepOf(trace, index, position);
        runs?.set(at, (runs.get(at) ?? 0) + 1);
      }
      position += 1;
    }
  });
  return found.map((entry, number) => {
    const opened = openings.find((each) => each.number === number);
    return opened === undefined ? entry : { ...entry, step: stepOf(trace, entry.step - 1, opened.event) };
  });
}

/** The step that an event is the doing of: events before a step began are those of the call around it. */
function stepOf(trace: Trace, index: number, position: number): number {
  let at = index;
  while (at < trace.steps.length - 1 && (trace.steps[at]?.first_event ?? 0) > position) at += 1;
  return at + 1;
}

/** The compilation that a reader at a step wants to see: the last one made or run by then, else the first to come. */
export function shownAt(compilations: readonly Compiled[], step: number): number {
  let best = -1;
  let latest = 0;
  compilations.forEach(({ facts, step: made, runs }, index) => {
    const last = [made, ...runs.keys()].filter((each) => each <= step).reduce((a, b) => Math.max(a, b), 0);
    // Of several in one step the first with a graph: the rest of a function follows from it.
    if (last > latest || (last === latest && last > 0 && best >= 0 && compilations[best]?.facts.graphs.length === 0 && facts.graphs.length > 0)) {
      best = index;
      latest = last;
    }
  });
  return Math.max(best, 0);
}

/** The graphs of a compilation with their drawings. */
export function drawnGraphs(trace: Trace, { facts }: Compiled): readonly DrawnGraph[] {
  const drawings = trace.fx_graphs ?? [];
  return facts.graphs.map((graph) => ({
    graph,
    drawing: drawings.find((each) => each.compilation === facts.id && each.stage === graph.stage)?.drawing ?? null,
  }));
}

/** The whole of a line of the program. */
export function lineRange(lines: readonly string[], line: number): SourceRange {
  const text = lines[line - 1] ?? "";
  const column = text.length - text.trimStart().length;
  return { line, column, end_line: line, end_column: Math.max(column + 1, [...text.trimEnd()].length) };
}
