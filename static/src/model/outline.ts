/**
 * What a trace looks like as a whole: the course of its steps, without the state after each.
 *
 * One pass over the events, made once. The timeline, the code's lamps and jumps read it.
 */
import type { Fold, Statement, Step, Trace } from "../schema/trace.gen";
import { LAYERS, type Layer } from "./state";
import { World, type TraceEvent } from "./world";

/** One step as the timeline shows it. Numbers count from 1. */
export interface StepOutline {
  readonly number: number;
  readonly statement: Statement;
  readonly line: number;
  readonly depth: number;
  /** The first step of the calls it made; its own number when it made none. */
  readonly from: number;
  readonly executions: number;
  /** The iterations of a loop it stands for, when they were folded. */
  readonly iterations: Fold | null;
  readonly raised: boolean;
  readonly lamps: readonly Layer[];
  /** Its source, on one line. */
  readonly text: string;
  /** Which execution of its statement this is, from 1. */
  readonly pass: number;
  /** It goes on with that execution: to leave a block, or after a suspension. */
  readonly again: "exit" | "resumed" | null;
}

export interface Outline {
  readonly lines: readonly string[];
  readonly steps: readonly StepOutline[];
  /** Line → the steps that executed its statement, rising. */
  readonly stepsOfLine: ReadonlyMap<number, readonly number[]>;
  /** Line → layers that any execution lights. */
  readonly lamps: ReadonlyMap<number, readonly Layer[]>;
  /** Devices in the order they came to hold bytes, each with its bytes alive after step 0, 1, 2, … */
  readonly alive: readonly { readonly device: string; readonly bytes: readonly number[] }[];
  /** The most bytes alive on all devices together after any step. */
  readonly peak: number;
  /** The steps whose calls a step runs inside, innermost first. */
  callers(step: number): readonly StepOutline[];
}

/** The lines of a program, as Python counts them. */
export function linesOf(source: string): string[] {
  return source.split(/\r\n|\r|\n/);
}

export function outlineOf(trace: Trace): Outline {
  const lines = linesOf(trace.source);
  const world = new World();
  const passes = new Map<number, number>();
  const stepsOfLine = new Map<number, number[]>();
  const alive = new Map<string, number[]>();
  const totals = [0];
  const stream: TraceEvent[] = [];
  const claimed = new Set<number>();
  const steps = trace.steps.flatMap((step, index): StepOutline[] => {
    world.applyStep(trace, step);
    const now = world.aliveBytes();
    for (const device of new Set([...alive.keys(), ...now.keys()])) {
      const course = alive.get(device) ?? new Array<number>(index + 1).fill(0);
      course.push(now.get(device) ?? 0);
      alive.set(device, course);
    }
    totals.push([...now.values()].reduce((sum, bytes) => sum + bytes, 0));
    const statement = trace.statements[step.statement];
    if (statement === undefined) return [];
    stream.push(...step.events);
    // Of two steps that begin with one event it belongs to the inner one, which ends first.
    const again = claimed.has(step.first_event) ? null : goesOn(stream[step.first_event]);
    if (step.first_event < stream.length) claimed.add(step.first_event);
    const pass = Math.max((passes.get(step.statement) ?? 0) + (again === null ? 1 : 0), 1);
    passes.set(step.statement, pass + step.executions - 1);
    const line = statement.range.line;
    const known = stepsOfLine.get(line);
    if (known === undefined) stepsOfLine.set(line, [index + 1]);
    else known.push(index + 1);
    return [{ ...outlineOfStep(step, index + 1, statement, lines), pass, again }];
  });
  return {
    lines,
    steps,
    stepsOfLine,
    lamps: world.lamps,
    alive: [...alive].map(([device, bytes]) => ({ device, bytes })),
    peak: totals.reduce((most, bytes) => Math.max(most, bytes), 0),
    callers: (step) => callersOf(steps, step),
  };
}

function callersOf(steps: readonly StepOutline[], step: number): readonly StepOutline[] {
  const found: StepOutline[] = [];
  let depth = steps[step - 1]?.depth ?? 0;
  for (let index = step; index < steps.length && depth > 0; index += 1) {
    const each = steps[index];
    if (each === undefined || each.depth >= depth || each.from > step) continue;
    found.push(each);
    depth = each.depth;
  }
  return found;
}

function goesOn(event: TraceEvent | undefined): StepOutline["again"] {
  if (event?.kind === "block-left") return "exit";
  return event?.kind === "resumed" ? "resumed" : null;
}

function outlineOfStep(
  step: Step,
  number: number,
  statement: Statement,
  lines: readonly string[],
): Omit<StepOutline, "pass" | "again"> {
  return {
    number,
    statement,
    line: statement.range.line,
    depth: step.depth,
    from: Math.min(step.began + 1, number),
    executions: step.executions,
    iterations: step.fold?.loop == null ? null : step.fold,
    raised: step.raised,
    lamps: LAYERS.filter((layer) => step.lamps.includes(layer)),
    text: textOf(statement, lines),
  };
}

function textOf({ kind, range }: Statement, lines: readonly string[]): string {
  const first = lines[range.line - 1] ?? "";
  const header = kind === "FunctionDef" || kind === "AsyncFunctionDef" || kind === "ClassDef";
  if (range.end_line === range.line && !header) return pieceOf(first, range.column, range.end_column).trim();
  return pieceOf(first, range.column, Infinity).trim();
}

/** A piece of a line by columns, which count characters and not UTF-16 units. */
export function pieceOf(line: string, from: number, to: number): string {
  return Array.from(line).slice(from, to).join("");
}

/** The first step after `step` that lights a layer; null when none does. */
export function nextChange(outline: Outline, step: number, layer: Layer): number | null {
  return outline.steps.slice(step).find((each) => each.lamps.includes(layer))?.number ?? null;
}

/** Where a click on a line leads: to its next execution, after the last one to the first. */
export function nextExecution(outline: Outline, step: number, line: number): number | null {
  const steps = outline.stepsOfLine.get(line);
  return steps?.find((number) => number > step) ?? steps?.[0] ?? null;
}

/** The last step at or before `step` that executed a line; else its first. */
export function stepOfLine(outline: Outline, line: number, step = Infinity): number | null {
  const steps = outline.stepsOfLine.get(line);
  return steps?.findLast((number) => number <= step) ?? steps?.[0] ?? null;
}
