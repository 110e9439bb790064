/**
 * `torch.compile` with a backend that needs no compiler: `aot_eager` captures what inductor would, the backward
 * too, and runs it as it is. Reads the program's tokens, so that strings and comments stay as they are.
 */
import { tokenize } from "./python";

const BACKEND = "aot_eager";
const LITERAL = /^["']([^"'\\]*)["']$/;

/**
 * The program with that backend wherever `torch.compile` is called with another one, or with none; null where
 * nothing is called that way. `only`: just the calls that name this backend.
 */
export function withBackend(source: string, only: string | null = null): string | null {
  const code = masked(source);
  let [out, done] = ["", 0];
  for (const found of code.matchAll(/(?<![\w.])torch\s*\.\s*compile\b/g)) {
    const end = found.index + found[0].length;
    const open = end + (/^[ \t]*/.exec(code.slice(end))?.[0].length ?? 0);
    const change = code[open] === "(" ? inCall(source, code, open, only) : only === null && decorates(code, found.index) ? insert(end, `(backend="${BACKEND}")`) : null;
    if (change === null || change.from < done) continue;
    out += source.slice(done, change.from) + change.text;
    done = change.to;
  }
  return done === 0 ? null : out + source.slice(done);
}

interface Change {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

function insert(at: number, text: string): Change {
  return { from: at, to: at, text };
}

/** The arguments of a call whose bracket opens at `open`. */
function inCall(source: string, code: string, open: number, only: string | null): Change | null {
  const { close, from } = argumentsOf(code, open);
  if (close === null) return null;
  if (from !== null) {
    const to = from + (/^[^\s,)]*/.exec(code.slice(from))?.[0].length ?? 0);
    const now = LITERAL.exec(source.slice(from, to))?.[1];
    return now === undefined || now === BACKEND || (only !== null && now !== only) ? null : { from, to, text: `"${BACKEND}"` };
  }
  if (only !== null) return null;
  // Behind the last argument: a comment or a line break may stand before the bracket.
  const inside = code.slice(open + 1, close).trimEnd();
  const comma = inside === "" ? "" : inside.endsWith(",") ? " " : ", ";
  return insert(open + 1 + inside.length, `${comma}backend="${BACKEND}"`);
}

/** Where a call's bracket is closed, and where the value of its own `backend=` begins. */
function argumentsOf(code: string, open: number): { close: number | null; from: number | null } {
  const named = /\s*backend\s*=\s*/y;
  let depth = 0;
  let from: number | null = null;
  for (let at = open; at < code.length; at += 1) {
    const char = code[at] ?? "";
    if ("([{".includes(char)) depth += 1;
    else if (")]}".includes(char)) depth -= 1;
    if (depth === 0) return { close: at, from };
    if (depth !== 1 || (char !== "," && at !== open)) continue;
    named.lastIndex = at + 1;
    const found = named.exec(code);
    if (found !== null) from = at + 1 + found[0].length;
  }
  return { close: null, from };
}

/** Only blanks and an `@` stand before it on its line. */
function decorates(code: string, at: number): boolean {
  return /(?:^|[\n\r])[ \t]*@[ \t]*$/.test(code.slice(0, at));
}

/** The program, its comments blank and its strings' insides dots: same length, same places. */
function masked(source: string): string {
  const blank = (text: string, by: string): string => text.replace(/[^\n\r]/g, by);
  let at = 0;
  let out = "";
  for (const tokens of tokenize(source)) {
    for (const { text, kind } of tokens) {
      const from = source.indexOf(text, at);
      out += source.slice(at, from) + (kind === "comment" ? blank(text, " ") : kind === "string" ? blank(text, ".") : text);
      at = from + text.length;
    }
  }
  return out + source.slice(at);
}
