/**
 * Runs programs, one at a time: a new run ends the one before.
 *
 * It says how a run goes (nothing at first, then that it runs, then seconds, then a way out) and hands
 * over what comes of it. What is then shown is the page's business.
 */
import type { Program } from "../model/program";
import { Problem, runProgram, type Progress } from "../model/run";
import { unpack } from "../model/unpack";
import type { Compared } from "../model/unobserved";
import type { Trace } from "../schema/trace.gen";

/** When a run that takes long says so, counts seconds, and may be cancelled. */
export const SHOW_MS = 200;
export const COUNT_MS = 1000;
export const CANCEL_MS = 3000;

/** How a run goes that is not over yet. */
export interface Going extends Progress {
  /** Whole seconds, 0 in the first. */
  readonly seconds: number;
  readonly cancellable: boolean;
}

/** What came of a run. */
export interface Ran {
  readonly trace: Trace;
  /** How long the reader waited, with two decimals. */
  readonly seconds: string;
}

/** Hears of one run. */
export interface Outcomes {
  ran(result: Ran): void;
  /** An unobserved run has ended as well, after `ran`. */
  compared?(result: Ran, compared: Compared): void;
  failed(problem: Problem): void;
  cancelled(): void;
}

/** Shows how runs go; null once none does. */
export type Waiting = (going: Going | null) => void;

export class Runs {
  private control: AbortController | null = null;

  constructor(private readonly waiting: Waiting) {}

  /** A program is running. */
  get busy(): boolean {
    return this.control !== null;
  }

  /** Ends the run that goes on. */
  cancel(): void {
    this.control?.abort();
  }

  /** True when the run gave a trace that is the latest thing asked for. */
  async run(program: Program, outcomes: Outcomes): Promise<boolean> {
    this.control?.abort();
    const control = new AbortController();
    this.control = control;
    const began = performance.now();
    let progress: Progress = { steps: 0, line: null };
    const timer = setInterval(() => {
      if (this.control === control) this.tell(performance.now() - began, progress);
    }, 100);
    let result: Ran | null = null;
    let early: Compared | null = null;
    try {
      const trace = await runProgram(program, control.signal, {
        progress: (now) => (progress = now),
        compared: (compared) => {
          if (result === null) early = compared;
          else outcomes.compared?.(result, compared);
        },
      }, unpack);
      if (this.control !== control) return false;
      this.rest(timer);
      result = { trace, seconds: ((performance.now() - began) / 1000).toFixed(2) };
      outcomes.ran(result);
      if (early !== null) outcomes.compared?.(result, early);
      return true;
    } catch (error) {
      if (this.control !== control) return false;
      this.rest(timer);
      if (control.signal.aborted) outcomes.cancelled();
      else outcomes.failed(error instanceof Problem ? error : new Problem("internal", String(error)));
      return false;
    } finally {
      clearInterval(timer);
    }
  }

  private rest(timer: ReturnType<typeof setInterval>): void {
    clearInterval(timer);
    this.control = null;
    this.waiting(null);
  }

  private tell(ms: number, progress: Progress): void {
    if (ms < SHOW_MS) return;
    const seconds = ms < COUNT_MS ? 0 : Math.floor(ms / 1000);
    this.waiting({ ...progress, seconds, cancellable: ms >= CANCEL_MS });
  }
}
