/**
 * Turns a message id and its arguments into a sentence of the reader's language.
 *
 * Twin of `app/messages/format.py`, where the syntax of a message is described; both pass
 * `tests/data/messages.json`. A page carries the catalogue of its language only. Styles come out as
 * parts, never as markup.
 */
export type Args = Readonly<Record<string, unknown>>;
export type Style = "plain" | "code" | "strong";
export type Catalogue = Readonly<Record<string, string>>;

/** A run of characters of one style. */
export interface Part {
  readonly text: string;
  readonly style: Style;
}

type Kind = "plain" | "number" | "bytes" | "plural" | "select" | "count";
type Piece =
  | { readonly type: "words"; readonly text: string }
  | { readonly type: "mark"; readonly style: Style }
  | { readonly type: "argument"; readonly name: string; readonly kind: Kind; readonly branches: ReadonlyMap<string, Message> };
type Message = readonly Piece[];

const LONGEST_LIST = 5;
const SHOWN_OF_LONG_LIST = 4;
const MARKS: readonly (readonly [string, Style])[] = [
  ["`", "code"],
  ["**", "strong"],
];
/** Powers of 1,024, as PyTorch's own messages count. */
const UNITS: readonly (readonly [string, number])[] = [
  ["TiB", 2 ** 40],
  ["GiB", 2 ** 30],
  ["MiB", 2 ** 20],
  ["KiB", 2 ** 10],
];
const EXACT = 10_000;

/** The sentences of one language. */
export class Messages {
  constructor(
    readonly language: string,
    private catalogue: Catalogue,
  ) {}

  /** Takes in further messages. */
  add(more: Catalogue): void {
    this.catalogue = { ...this.catalogue, ...more };
  }

  /** A message in plain text. */
  readonly text = (id: string, args: Args = {}): string =>
    this.parts(id, args)
      .map((part) => part.text)
      .join("");

  /** A message as parts with styles; an unknown id gives the id. */
  parts(id: string, args: Args = {}): readonly Part[] {
    const message = this.catalogue[id];
    return message === undefined ? [{ text: id, style: "plain" }] : formatParts(message, args, this.catalogue);
  }
}

/** What stands between a text and the next: nothing after a full-width mark, which has its own space. */
export function gapAfter(text: string): string {
  return text === "" || /[。！？；：，、）]$/.test(text) ? "" : " ";
}

/** Sentences one after the other. */
export function together(sentences: readonly string[]): string {
  return sentences.filter(Boolean).reduce((all, each) => all + gapAfter(all) + each, "");
}

/** Formats one message. `lists` holds `list.comma`, `list.and`, `list.more` and what stands before that, `list.and-more`. */
export function formatParts(message: string, args: Args, lists: Catalogue): Part[] {
  const out: Part[] = [];
  render(parse(message), args, lists, "plain", out);
  const merged: Part[] = [];
  for (const part of out) {
    const last = merged.at(-1);
    if (last !== undefined && last.style === part.style) {
      merged[merged.length - 1] = { text: last.text + part.text, style: part.style };
    } else if (part.text !== "") merged.push(part);
  }
  return merged;
}

/** The unit in which so many bytes are said, and its bytes. */
export function unitOf(n: number): readonly [name: string, bytes: number] {
  return n < EXACT ? ["B", 1] : (UNITS.find(([, least]) => n >= least) ?? ["B", 1]);
}

/** Bytes in a unit that keeps them short; exact below 10,000. */
export function formatBytes(n: number): string {
  if (n < EXACT) return `${grouped(n)} B`;
  const [unit, size] = unitOf(n);
  const tenths = Math.floor((n * 10 + size / 2) / size);
  const whole = grouped(Math.floor(tenths / 10));
  return tenths % 10 === 0 || tenths >= 1000 ? `${whole} ${unit}` : `${whole}.${tenths % 10} ${unit}`;
}

function render(pieces: Message, args: Args, lists: Catalogue, style: Style, out: Part[]): Style {
  for (const piece of pieces) {
    if (piece.type === "words") out.push({ text: piece.text, style });
    else if (piece.type === "mark") style = style === piece.style ? "plain" : piece.style;
    else if (!Object.hasOwn(args, piece.name)) out.push({ text: `{${piece.name}}`, style });
    else if (piece.kind === "plural" || piece.kind === "select") {
      style = render(branch(piece.kind, piece.branches, args[piece.name]), args, lists, style, out);
    } else out.push(...insert(args[piece.name], piece.kind, lists, style));
  }
  return style;
}

function branch(kind: "plural" | "select", branches: ReadonlyMap<string, Message>, value: unknown): Message {
  const other = branches.get("other") ?? [];
  if (kind === "select") return branches.get(word(value)) ?? other;
  const n = count(value);
  return branches.get(`=${n}`) ?? (n === 1 ? branches.get("one") : undefined) ?? other;
}

function insert(value: unknown, kind: Kind, lists: Catalogue, style: Style): Part[] {
  if (kind === "count") return [{ text: grouped(count(value)), style }];
  if (Array.isArray(value)) return joined(value.map(word), lists, style);
  if (kind === "number" && Number.isInteger(value)) return [{ text: grouped(value as number), style }];
  if (kind === "bytes" && Number.isInteger(value)) return [{ text: formatBytes(value as number), style }];
  return [{ text: word(value), style }];
}

/** "x, y and z"; of a long list the first four and how many more. */
function joined(items: readonly string[], lists: Catalogue, style: Style): Part[] {
  let words: Part[] = items.map((text) => ({ text, style }));
  if (items.length > LONGEST_LIST) {
    const more = formatParts(lists["list.more"] ?? "", { n: items.length - SHOWN_OF_LONG_LIST }, lists);
    words = words.slice(0, SHOWN_OF_LONG_LIST);
    words.push({ text: more.map((part) => part.text).join(""), style: "plain" });
  }
  return words.flatMap((each, i) => {
    if (i === 0) return [each];
    const last = items.length > LONGEST_LIST && "list.and-more" in lists ? "list.and-more" : "list.and";
    const join = lists[i === words.length - 1 ? last : "list.comma"] ?? "";
    return [{ text: join, style: "plain" as const }, each];
  });
}

function count(value: unknown): number {
  return Array.isArray(value) ? value.length : Math.trunc(Number(value)) || 0;
}

/** A value as Python's `str` has it. */
function word(value: unknown): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  return String(value);
}

function grouped(n: number): string {
  return String(n).replace(/\B(?=(\d{3})+$)/g, ",");
}

const parsed = new Map<string, Message>();

/** Reads the syntax of a message. Throws on a malformed one, which tests keep out of the catalogues. */
export function parse(message: string): Message {
  let pieces = parsed.get(message);
  if (pieces === undefined) {
    const [read, end] = parseText(message, 0, null);
    if (end !== message.length) throw new SyntaxError(`unexpected '}' at ${end} in ${message}`);
    parsed.set(message, read);
    pieces = read;
  }
  return pieces;
}

/** Reads pieces until the end or a closing brace. `counted` is the argument that `#` stands for. */
function parseText(message: string, at: number, counted: string | null): [Message, number] {
  const pieces: Piece[] = [];
  let text = "";
  const flush = (): void => {
    if (text !== "") pieces.push({ type: "words", text });
    text = "";
  };
  while (at < message.length && message[at] !== "}") {
    const char = message[at] ?? "";
    const mark = MARKS.find(([sign]) => message.startsWith(sign, at));
    if (char === "\\" && at + 1 < message.length) {
      text += message[at + 1];
      at += 2;
    } else if (mark !== undefined) {
      flush();
      pieces.push({ type: "mark", style: mark[1] });
      at += mark[0].length;
    } else if (char === "#" && counted !== null) {
      flush();
      pieces.push({ type: "argument", name: counted, kind: "count", branches: new Map() });
      at += 1;
    } else if (char === "{") {
      flush();
      const [piece, next] = parseArgument(message, at + 1, counted);
      pieces.push(piece);
      at = next;
    } else {
      text += char;
      at += 1;
    }
  }
  flush();
  return [pieces, at];
}

function parseArgument(message: string, at: number, counted: string | null): [Piece, number] {
  const end = closing(message, at);
  const inside = message.slice(at, end);
  const match = /^\s*([A-Za-z_]\w*)\s*(?:,\s*(\w+)\s*(?:,([^]*))?)?$/.exec(inside);
  const name = match?.[1];
  const kind = match?.[2] ?? "plain";
  const body = match?.[3] ?? "";
  if (name === undefined) throw new SyntaxError(`bad placeholder {${inside}}`);
  if (kind !== "plural" && kind !== "select") {
    if (body !== "" || (kind !== "plain" && kind !== "number" && kind !== "bytes")) {
      throw new SyntaxError(`bad placeholder {${inside}}`);
    }
    return [{ type: "argument", name, kind, branches: new Map() }, end + 1];
  }
  const branches = new Map<string, Message>();
  let spot = end - body.length;
  while (message.slice(spot, end).trim() !== "") {
    const opening = message.indexOf("{", spot);
    if (opening < 0 || opening >= end) throw new SyntaxError(`a branch without braces in {${inside}}`);
    const [pieces, close] = parseText(message, opening + 1, kind === "plural" ? name : counted);
    branches.set(message.slice(spot, opening).trim(), pieces);
    spot = close + 1;
  }
  if (!branches.has("other")) throw new SyntaxError(`no 'other' in {${inside}}`);
  return [{ type: "argument", name, kind, branches }, end + 1];
}

/** Finds the brace that closes the one before `at`. */
function closing(message: string, at: number): number {
  for (let depth = 1; at < message.length; at += 1) {
    const char = message[at];
    if (char === "\\") at += 1;
    else if (char === "{") depth += 1;
    else if (char === "}") {
      depth -= 1;
      if (depth === 0) return at;
    }
  }
  throw new SyntaxError(`a brace is not closed in ${message}`);
}
