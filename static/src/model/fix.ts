/** The program with the change that its explanation offers, where that can be made with certainty. */
import { withBackend } from "./compile-fix";
import { indexOfColumn } from "./python";
import { linesOf } from "./outline";
import type { Trace } from "../schema/trace.gen";

/** The mended program; null when nothing is offered that can be applied with certainty. */
export function fixOf(trace: Trace): string | null {
  const { explanation } = trace;
  if (explanation === null) return null;
  if (explanation.class === "view-stride") return reshaped(trace);
  const [said] = explanation.sentences;
  if (said?.id === "error.denied-compiler") return withBackend(trace.source);
  if (said?.id === "error.compile-backend") return withBackend(trace.source, String(said.args["backend"]));
  for (const { args } of explanation.sentences) {
    const [how, rewrite, line] = [args["how"], args["rewrite"], args["caused_by"]];
    if (typeof rewrite === "string" && typeof line === "number" && (how === "rewrite" || how === "clone")) {
      return rewritten(trace, line, rewrite, how === "clone");
    }
  }
  return null;
}

function rewritten(trace: Trace, number: number, text: string, before: boolean): string | null {
  const statements = trace.statements.filter(({ range }) => range.line <= number && number <= range.end_line);
  const lines = linesOf(trace.source);
  const line = lines[number - 1];
  // A line with two statements, or a statement on two lines, is not replaced by guess.
  if (line === undefined || statements.length !== 1 || statements[0]?.range.end_line !== statements[0]?.range.line) return null;
  const indent = line.slice(0, line.length - line.trimStart().length);
  const comment = before ? "" : (/\s+#[^'"]*$/.exec(line)?.[0] ?? "");
  lines.splice(number - 1, before ? 0 : 1, `${indent}${text}${comment}`);
  return lines.join("\n");
}

/** `.view(…)` that cannot be a view becomes `.reshape(…)`, which copies. */
function reshaped({ source, outcome }: Trace): string | null {
  const { range } = outcome;
  const lines = linesOf(source);
  const line = range === null ? undefined : lines[range.line - 1];
  if (range === null || line === undefined) return null;
  const [from, to] = [indexOfColumn(line, range.column), range.end_line === range.line ? indexOfColumn(line, range.end_column) : line.length];
  const piece = line.slice(from, to);
  const at = piece.lastIndexOf(".view(");
  if (at < 0) return null;
  lines[range.line - 1] = `${line.slice(0, from + at)}.reshape(${line.slice(from + at + ".view(".length)}`;
  return lines.join("\n");
}
