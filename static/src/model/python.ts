/**
 * Python source → coloured pieces per line. A tokenizer for reading, not for judging: what it does
 * not know stays plain, and an unfinished string ends with its line (a triple-quoted one with the
 * program).
 */
import { linesOf } from "./outline";

export type TokenKind = "keyword" | "constant" | "number" | "string" | "comment" | "definition" | "plain";

export interface Token {
  readonly text: string;
  readonly kind: TokenKind;
}

const KEYWORDS = new Set(
  ("and as assert async await break class continue def del elif else except finally for from global if import in " +
    "is lambda nonlocal not or pass raise return try while with yield").split(" "),
);
const CONSTANTS = new Set(["True", "False", "None", "NotImplemented", "Ellipsis"]);

const RULES: readonly (readonly [RegExp, TokenKind | "name"])[] = [
  [/#[^\n\r]*/y, "comment"],
  [/(?:[bfBF][rR]?|[rR][bfBF]?|[uU])?(?:"""(?:\\[^]|[^\\])*?(?:"""|$)|'''(?:\\[^]|[^\\])*?(?:'''|$))/y, "string"],
  [/(?:[bfBF][rR]?|[rR][bfBF]?|[uU])?(?:"(?:\\[^]|[^"\\\n\r])*"?|'(?:\\[^]|[^'\\\n\r])*'?)/y, "string"],
  [/(?:0[xX][\da-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?[jJ]?)/y, "number"],
  [/[\p{L}_][\p{L}\p{N}_]*/uy, "name"],
  [/[^\p{L}\p{N}_#"'.]+|[^]/uy, "plain"],
];

/** Tokens of each line; a line's tokens joined give the line. */
export function tokenize(source: string): Token[][] {
  const lines: Token[][] = [[]];
  let definition = false;
  for (const { text, kind } of scan(source)) {
    const blank = text.trim() === "";
    const shown = kind === "name" ? kindOfName(text, definition) : kind;
    if (!blank) definition = kind === "name" && (text === "def" || text === "class");
    linesOf(text).forEach((piece, i) => {
      if (i > 0) lines.push([]);
      if (piece !== "") lines.at(-1)?.push({ text: piece, kind: shown });
    });
  }
  return lines;
}

function kindOfName(name: string, definition: boolean): TokenKind {
  if (definition) return "definition";
  if (KEYWORDS.has(name)) return "keyword";
  return CONSTANTS.has(name) ? "constant" : "plain";
}

function* scan(source: string): Generator<{ text: string; kind: TokenKind | "name" }> {
  for (let at = 0; at < source.length; ) {
    for (const [rule, kind] of RULES) {
      rule.lastIndex = at;
      const text = rule.exec(source)?.[0];
      if (text === undefined || text === "") continue;
      yield { text, kind };
      at += text.length;
      break;
    }
  }
}

/** The index in a JavaScript string of a column, which counts characters and not UTF-16 units. */
export function indexOfColumn(line: string, column: number): number {
  return Array.from(line).slice(0, column).join("").length;
}

/** A piece of a line: its token's kind, and whether marks cover it. */
export interface Segment extends Token {
  readonly marks: readonly string[];
}

/** Cuts tokens where marks begin and end. Marks are ranges of string indices with a name. */
export function segments(
  tokens: readonly Token[],
  marks: readonly { readonly from: number; readonly to: number; readonly name: string }[],
): Segment[] {
  const cuts = [...new Set(marks.flatMap((mark) => [mark.from, mark.to]))].sort((a, b) => a - b);
  const found: Segment[] = [];
  let at = 0;
  for (const { text, kind } of tokens) {
    const end = at + text.length;
    const bounds = [at, ...cuts.filter((cut) => cut > at && cut < end), end];
    bounds.slice(1).forEach((to, i) => {
      const from = bounds[i] ?? at;
      const names = marks.filter((mark) => mark.from <= from && to <= mark.to).map((mark) => mark.name);
      found.push({ text: text.slice(from - at, to - at), kind, marks: names });
    });
    at = end;
  }
  return found;
}
