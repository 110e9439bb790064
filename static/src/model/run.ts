/**
 * Asks the server to run a program, and says how it goes while it runs.
 *
 * The trace comes as soon as the program is over; what an unobserved run of it had otherwise comes after.
 * Lines with steps are skipped: the trace holds them all, explained.
 */
import type { Trace } from "../schema/trace.gen";
import type { Program } from "./program";
import { NOT_COMPARED, type Compared } from "./unobserved";

/** How far a run is. */
export interface Progress {
  readonly steps: number;
  readonly line: number | null;
}

/** Why there is no trace. `code` names the sentence, `message` is the server's own. */
export class Problem extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly limit: number | null = null,
    readonly retryAfter: number | null = null,
  ) {
    super(message);
  }
}

type Line =
  | { readonly event: "start" }
  | ({ readonly event: "note" } & Partial<Compared>)
  | { readonly event: "chunk"; readonly trace?: Trace }
  | { readonly event: "progress"; readonly steps: number; readonly line: number | null }
  | { readonly event: "end"; readonly trace?: Trace; readonly problem?: ProblemBody };

interface ProblemBody {
  readonly code?: string;
  readonly message?: string;
  readonly limit?: number;
}

const STEPS = /^\{"event": ?"chunk", ?"chunk"/;

/** Hears how far a run is, and later what an unobserved run of the program had otherwise. */
export interface Listener {
  progress?(now: Progress): void;
  compared?(result: Compared): void;
}

/**
 * Runs a program; answers its trace as soon as there is one. Rejects with a `Problem`, or with an
 * `AbortError` when `signal` says so. A trace whose comparison is pending is followed by `compared`.
 * Without `unpack` the trace is not packed on its way: longer, but an embed carries no code for it.
 */
export async function runProgram(program: Program, signal: AbortSignal, listener: Listener, unpack?: (sent: Trace) => Trace): Promise<Trace> {
  let response: Response;
  try {
    response = await fetch(unpack ? "/api/trace" : "/api/trace?packed=0", {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/x-ndjson" },
      body: JSON.stringify({ source: program.source, device: program.device, seed: program.seed }),
      signal,
    });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new Problem("unreachable", "The server cannot be reached.");
  }
  if (!response.ok) throw await problemOf(response);
  const lines = linesIn(response);
  const sent = await firstTrace(lines, signal, listener);
  const trace = unpack?.(sent) ?? sent;
  if (trace.comparison.state === "pending") void untilCompared(lines, signal, listener);
  return trace;
}

async function firstTrace(lines: AsyncGenerator<string>, signal: AbortSignal, listener: Listener): Promise<Trace> {
  try {
    for (;;) {
      const { done, value } = await lines.next();
      if (done === true) break;
      if (STEPS.test(value)) continue;
      const line = JSON.parse(value) as Line;
      if (line.event === "progress") listener.progress?.(line);
      if (line.event !== "end" && line.event !== "chunk") continue;
      if (line.trace !== undefined) return line.trace;
      if (line.event === "end") throw asProblem(line.problem ?? {}, null);
    }
  } catch (error) {
    if (signal.aborted || error instanceof Problem) throw error;
  }
  throw new Problem("cut-short", "The answer of the server was cut short.");
}

/** Waits for the note with the comparison; a stream that ends without it has not compared anything. */
async function untilCompared(lines: AsyncGenerator<string>, signal: AbortSignal, listener: Listener): Promise<void> {
  let result = NOT_COMPARED;
  try {
    for await (const text of lines) {
      const line = text.startsWith('{"event":"note"') ? (JSON.parse(text) as Line) : null;
      if (line?.event !== "note" || line.comparison === undefined) continue;
      result = { comparison: line.comparison, observer_effects: line.observer_effects ?? [] };
      break;
    }
  } catch {
    // The trace is there; only this is not known.
  }
  if (!signal.aborted) listener.compared?.(result);
}

/** The lines of a body, as they come. */
async function* linesIn(response: Response): AsyncGenerator<string> {
  if (response.body === null) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const pieces: string[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const parts = value.split("\n");
    pieces.push(parts[0] ?? "");
    for (const part of parts.slice(1)) {
      yield pieces.join("");
      pieces.length = 0;
      pieces.push(part);
    }
  }
  const rest = pieces.join("");
  if (rest !== "") yield rest;
}

async function problemOf(response: Response): Promise<Problem> {
  const after = Number(response.headers.get("Retry-After") ?? "");
  try {
    return asProblem((await response.json()) as ProblemBody, after > 0 ? after : null);
  } catch {
    return new Problem("internal", `The server answered ${response.status}.`);
  }
}

function asProblem({ code, message, limit }: ProblemBody, retryAfter: number | null): Problem {
  return new Problem(code ?? "internal", message ?? "", limit ?? null, retryAfter);
}
