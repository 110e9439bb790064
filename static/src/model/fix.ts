/** The program with a change that its explanation offers; Python derived it (`app/explaining/mending.py`). */
import { withBackend } from "./compile-fix";
import { indexOfColumn } from "./python";
import { linesOf } from "./outline";
import type { Fix, Trace } from "../schema/trace.gen";

/** A change, and the program with it. */
export interface Mended {
  /** A message `ui.compare.fix.<kind>` says what it does. */
  readonly kind: string;
  readonly source: string;
}

/** Changes that may keep the program from failing as it did, or undo what was noticed of it; the likeliest first. */
export function fixesOf(trace: Trace): readonly Mended[] {
  const { explanation, notes } = trace;
  const fixes = [...(explanation?.fixes ?? []), ...notes.flatMap(({ fix }) => fix ?? [])];
  const compiled = backend(trace);
  const found = fixes.map((fix) => ({ kind: fix.kind, source: applied(trace.source, fix) }));
  return [...(compiled === null ? [] : [{ kind: "backend", source: compiled }]), ...found];
}

function backend({ explanation, source }: Trace): string | null {
  const [said] = explanation?.sentences ?? [];
  if (said?.id === "error.denied-compiler") return withBackend(source);
  if (said?.id === "error.compile-backend") return withBackend(source, String(said.args["backend"]));
  return null;
}

function applied(source: string, { edits }: Fix): string {
  const lines = linesOf(source);
  const last = [...edits].sort((a, b) => b.range.line - a.range.line || b.range.column - a.range.column);
  for (const { range, text } of last) {
    const line = lines[range.line - 1];
    if (line === undefined) continue;
    const [from, to] = [indexOfColumn(line, range.column), indexOfColumn(line, range.end_column)];
    lines[range.line - 1] = line.slice(0, from) + text + line.slice(to);
  }
  return lines.join("\n");
}
