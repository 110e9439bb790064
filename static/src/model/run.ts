/**
 * Asks the server to run a program, and says how it goes while it runs.
 *
 * The stream's `chunk` lines are skipped: the last line holds the whole trace, explained.
 */
import type { Trace } from "../schema/trace.gen";

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
  | { readonly event: "start" | "note" }
  | { readonly event: "progress"; readonly steps: number; readonly line: number | null }
  | { readonly event: "end"; readonly trace?: Trace; readonly problem?: ProblemBody };

interface ProblemBody {
  readonly code?: string;
  readonly message?: string;
  readonly limit?: number;
}

const CHUNK = '{"event":"chunk"';
const CHUNK_SPACED = '{"event": "chunk"';

/** Runs a program. Rejects with a `Problem`, or with an `AbortError` when `signal` says so. */
export async function runProgram(source: string, signal: AbortSignal, onProgress: (now: Progress) => void): Promise<Trace> {
  let response: Response;
  try {
    response = await fetch("/api/trace", {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/x-ndjson" },
      body: JSON.stringify({ source, device: "auto" }),
      signal,
    });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new Problem("unreachable", "The server cannot be reached.");
  }
  if (!response.ok) throw await problemOf(response);
  return lastLine(response, signal, onProgress);
}

async function lastLine(response: Response, signal: AbortSignal, onProgress: (now: Progress) => void): Promise<Trace> {
  try {
    for await (const text of linesIn(response)) {
      if (text.startsWith(CHUNK) || text.startsWith(CHUNK_SPACED)) continue;
      const line = JSON.parse(text) as Line;
      if (line.event === "progress") onProgress(line);
      if (line.event !== "end") continue;
      if (line.trace !== undefined) return line.trace;
      throw asProblem(line.problem ?? {}, null);
    }
  } catch (error) {
    if (signal.aborted || error instanceof Problem) throw error;
  }
  throw new Problem("cut-short", "The answer of the server was cut short.");
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
