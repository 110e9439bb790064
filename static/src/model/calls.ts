/**
 * The calls of a program's own functions: where a step stands in them, and how to go into, over and out of them.
 *
 * Steps are numbered as they end: the lines inside a call come before the line of the call. To look inside the
 * line that is shown is therefore to go back; to leave a function is to go on to the line that called it.
 */
import type { Trace } from "../schema/trace.gen";
import type { Outline, StepOutline } from "./outline";

/** A frame on the stack of a step. */
export interface StackFrame {
  /** The function's name; null for the module. */
  readonly function: string | null;
  /** Its line at that moment; null when it was not left any more, as when the run was cut short. */
  readonly line: number | null;
  /** The step of that line, which ends after the calls it makes. */
  readonly step: number | null;
}

/** The program calls functions of its own. */
export function hasCalls(outline: Outline): boolean {
  return outline.steps.some(({ depth }) => depth > 0);
}

/** The first line inside the call that a step's line made; else inside the call that comes next. Null without one. */
export function stepInto(outline: Outline, step: number): number | null {
  const here = outline.steps[step - 1];
  const depth = here?.depth ?? 0;
  const made = here === undefined ? [] : outline.steps.slice(here.from - 1, step - 1);
  return firstInside(made, depth) ?? firstInside(upTo(outline, step, depth), depth);
}

/** The next line that is not inside a call: all that it calls is taken as one. */
export function stepOver(outline: Outline, step: number): number | null {
  const depth = outline.steps[step - 1]?.depth ?? 0;
  return outline.steps.slice(step).find((each) => each.depth <= depth)?.number ?? null;
}

/** The line that called the function of a step. */
export function stepOut(outline: Outline, step: number): number | null {
  return outline.callers(step)[0]?.number ?? null;
}

/** The frames of a step, the module first. */
export function stackOf(trace: Trace, outline: Outline, step: number, functions: ReadonlyMap<number, string>): readonly StackFrame[] {
  const here = outline.steps[step - 1];
  if (here === undefined) return [{ function: null, line: null, step: null }];
  const frames = [here, ...outline.callers(step)].map(({ number, line }): StackFrame => {
    const frame = trace.steps[number - 1]?.frame ?? 0;
    return { function: frame === 0 ? null : (functions.get(frame) ?? "?"), line, step: number };
  });
  const whole = frames.at(-1)?.function === null ? frames : [...frames, { function: null, line: null, step: null }];
  return whole.reverse();
}

/** Frame → the name of its function, without those it is defined in. */
export function functionsOf(trace: Trace): ReadonlyMap<number, string> {
  const found = new Map<number, string>();
  for (const { events } of trace.steps) {
    for (const event of events) {
      if (event.kind === "call") found.set(event.frame, event.function.split("<locals>.").at(-1) ?? event.function);
    }
  }
  return found;
}

/** The steps after one, up to the next that is as deep as it. */
function upTo(outline: Outline, step: number, depth: number): readonly StepOutline[] {
  const after = outline.steps.slice(step);
  const end = after.findIndex((each) => each.depth <= depth);
  return end < 0 ? after : after.slice(0, end);
}

/** Of steps inside a call the first that is in the called function itself, not in what that calls. */
function firstInside(steps: readonly StepOutline[], depth: number): number | null {
  const inside = steps.filter((each) => each.depth > depth);
  const least = inside.reduce((least, each) => Math.min(least, each.depth), Infinity);
  return inside.find((each) => each.depth === least)?.number ?? null;
}
