/**
 * A line's executions: which of them a step shows, and the layers it lit.
 *
 * The execution shown is the last that has begun to end at that step; a line of several statements shows
 * the last of each. Folded executions count as what they are: many.
 */
import type { Statement } from "../schema/trace.gen";
import type { Outline, StepOutline } from "./outline";
import type { Layer } from "./state";

export interface Execution {
  /** Which one, from 1; 0 before the first. */
  readonly pass: number;
  /** How many there are. */
  readonly of: number;
  readonly lamps: ReadonlySet<Layer>;
}

export class Executions {
  private readonly lines = new Map<number, readonly (readonly StepOutline[])[]>();

  constructor(private readonly outline: Outline) {}

  /** What a line shows at a step; null for a line that is never executed. */
  at(line: number, step: number): Execution | null {
    const statements = this.of(line);
    if (statements.length === 0) return null;
    const lamps = new Set<Layer>();
    let pass = 0;
    for (const steps of statements) {
      let index = lastUpTo(steps, step);
      const last = steps[index]?.pass;
      pass = Math.max(pass, passed(steps[index]));
      for (; index >= 0 && steps[index]?.pass === last; index -= 1) for (const layer of steps[index]?.lamps ?? []) lamps.add(layer);
    }
    return { pass, of: Math.max(...statements.map((steps) => passed(steps.at(-1)))), lamps };
  }

  /** Its steps, per statement. */
  private of(line: number): readonly (readonly StepOutline[])[] {
    let found = this.lines.get(line);
    if (found === undefined) {
      const groups = new Map<Statement, StepOutline[]>();
      for (const number of this.outline.stepsOfLine.get(line) ?? []) {
        const step = this.outline.steps[number - 1];
        if (step === undefined) continue;
        const known = groups.get(step.statement);
        if (known === undefined) groups.set(step.statement, [step]);
        else known.push(step);
      }
      this.lines.set(line, (found = [...groups.values()]));
    }
    return found;
  }
}

/** The last execution that a step stands for. */
function passed(step: StepOutline | undefined): number {
  return step === undefined ? 0 : step.pass + step.executions - 1;
}

/** Index of the last step numbered `step` or less; -1 when there is none. */
function lastUpTo(steps: readonly StepOutline[], step: number): number {
  let low = 0;
  let high = steps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((steps[middle]?.number ?? Infinity) <= step) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
