/**
 * Python source → coloured pieces per line. A tokenizer for reading, not for judging: what it does
 * not know stays plain, and an unfinished string ends with its line (a triple-quoted one with the
 * program). Inside the braces of an f-string stands code again.
 */
import { linesOf } from "./outline";

export type TokenKind =
  | "keyword" | "constant" | "number" | "string" | "comment" | "definition" | "decorator" | "builtin" | "plain";

export interface Token {
  readonly text: string;
  readonly kind: TokenKind;
}

type Piece = { readonly text: string; readonly kind: TokenKind | "name" };

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));
const KEYWORDS = words(
  "and as assert async await break class continue def del elif else except finally for from global if import in " +
    "is lambda nonlocal not or pass raise return try while with yield",
);
const CONSTANTS = words("True False None NotImplemented Ellipsis __debug__");
/** Keywords only at the start of a statement, where something but an operator follows. */
const SOFT = words("match case type");
const BUILTINS = words(
  "abs all any bool bytes callable chr classmethod complex dict dir divmod enumerate filter float format frozenset getattr " +
    "hasattr hash hex id input int isinstance issubclass iter len list map max memoryview min next object open ord pow print " +
    "property range repr reversed round set setattr slice sorted staticmethod str sum super tuple type vars zip self cls",
);

const PREFIX = "(?:[bfBF][rR]?|[rR][bfBF]?|[uU])?";
const RULES: readonly (readonly [RegExp, TokenKind | "name"])[] = [
  [/#[^\n\r]*/y, "comment"],
  [new RegExp(`${PREFIX}(?:"""(?:\\\\[^]|[^\\\\])*?(?:"""|$)|'''(?:\\\\[^]|[^\\\\])*?(?:'''|$))`, "y"), "string"],
  [new RegExp(`${PREFIX}(?:"(?:\\\\[^]|[^"\\\\\\n\\r])*"?|'(?:\\\\[^]|[^'\\\\\\n\\r])*'?)`, "y"), "string"],
  [/(?:0[xX][\da-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?[jJ]?)/y, "number"],
  [/[\p{L}_][\p{L}\p{N}_]*/uy, "name"],
  [/[^\p{L}\p{N}_#"'.@]+|[^]/uy, "plain"],
];

/** Tokens of each line; a line's tokens joined give the line. */
export function tokenize(source: string): Token[][] {
  const lines: Token[][] = [[]];
  for (const { text, kind } of coloured(source)) {
    linesOf(text).forEach((piece, i) => {
      if (i > 0) lines.push([]);
      const line = lines.at(-1);
      const last = line?.at(-1);
      if (last !== undefined && last.kind === "plain" && kind === "plain") line?.splice(-1, 1, { text: last.text + piece, kind });
      else if (piece !== "") line?.push({ text: piece, kind });
    });
  }
  return lines;
}

/** Names get their kinds from what stands around them. */
function* coloured(source: string, statements = true): Generator<Token> {
  let at = 0;
  let before = ""; // the last piece that is not blank
  let opening = statements; // nothing but blanks since the line began
  let decorating = false;
  let brackets = 0;
  for (const { text, kind } of scan(source)) {
    at += text.length;
    const blank = text.trim() === "";
    if (kind === "plain" && opening && text === "@") decorating = true;
    const inDecorator: boolean = decorating && (kind === "name" || text === "@" || text === ".");
    if (inDecorator) yield { text, kind: "decorator" };
    else if (kind === "name") yield { text, kind: kindOfName(text, before, opening, source.slice(at)) };
    else if (kind === "string") yield* stringPieces(text);
    else yield { text, kind };
    decorating = inDecorator;
    if (kind === "plain") brackets += depthOf(text);
    if (statements && brackets <= 0 && kind === "plain" && /[\n\r;:][ \t]*$/.test(text)) opening = true;
    else if (!blank) opening = false;
    if (!blank) before = text.trim();
  }
}

/** Brackets that a piece opens, less those it closes. */
function depthOf(text: string): number {
  return (text.match(/[([{]/g)?.length ?? 0) - (text.match(/[)\]}]/g)?.length ?? 0);
}

function kindOfName(name: string, before: string, opening: boolean, after: string): TokenKind {
  if (before === "def" || before === "class") return "definition";
  if (before.endsWith(".")) return "plain";
  if (KEYWORDS.has(name)) return "keyword";
  if (CONSTANTS.has(name)) return "constant";
  if (SOFT.has(name) && opening && /^[ \t]+(?:[\p{L}_\d"'({[*-])/u.test(after) && softHeader(name, after)) return "keyword";
  const argument = /^[ \t]*=(?!=)/.test(after);
  return BUILTINS.has(name) && !argument ? "builtin" : "plain";
}

/** `match x:` and `case 0:` end in a colon, `type X = int` has a name and an equals sign. */
function softHeader(name: string, after: string): boolean {
  const line = /^[^\n\r]*/.exec(after)?.[0] ?? "";
  if (name === "type") return /^[ \t]+[\p{L}_][\p{L}\p{N}_]*[ \t]*(?:\[|=(?!=))/u.test(line);
  return /:[ \t]*(?:#.*)?$/.test(line) || (name === "case" && line.includes(":"));
}

/** The replacement fields of an f-string are code, with doubled braces and format specifications aside. */
function* stringPieces(text: string): Generator<Token> {
  if (!/^[rR]?[fF]/.test(text)) {
    yield { text, kind: "string" };
    return;
  }
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] !== "{") continue;
    if (text[at + 1] === "{") {
      at += 1;
      continue;
    }
    const end = fieldEnd(text, at + 1);
    if (end === null) break;
    yield { text: text.slice(from, at + 1), kind: "string" };
    yield* coloured(text.slice(at + 1, end), false);
    from = end;
    at = end;
  }
  if (from < text.length) yield { text: text.slice(from), kind: "string" };
}

/** Where the expression of a replacement field ends: at its closing brace, `!r`, or `:`; null when it does not. */
function fieldEnd(text: string, from: number): number | null {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    const char = text[at] ?? "";
    if ("([{".includes(char)) depth += 1;
    else if (depth > 0 && ")]}".includes(char)) depth -= 1;
    else if (depth === 0 && (char === "}" || char === ":" || (char === "!" && text[at + 1] !== "="))) return at;
    else if (char === "\n" && depth === 0 && !text.includes('"""')) return null;
  }
  return null;
}

function* scan(source: string): Generator<Piece> {
  for (let at = 0; at < source.length; ) {
    for (const [rule, kind] of RULES) {
      rule.lastIndex = at;
      const text = rule.exec(source)?.[0];
      if (text === undefined || text === "") continue;
      // A nested scan moves the rules' places: they are set anew each time.
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
