/**
 * Where one element lives: the sum that leads to its cell, its byte, address, value, and who else reads it.
 *
 * It keeps its height whatever it shows, so that pointing moves nothing.
 */
import { readingsOf, windowOf, type Looking, type Window } from "../layout/focus";
import { recordedAt, readValue, exactText, shortDtype } from "../layout/values";
import { UNNAMED_HOLDERS, type Origin, type State, type StorageNow, type TensorNow } from "../model/state";
import { element, swatch } from "./badge";
import { el, renew, set, write, type Child } from "./dom";
import type { TilesLater } from "./tiles-later";
import { pick, type Say } from "./view";

const SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉";
const LETTERS = "ijklmnop";
const MOST_ALIASES = 4;
const MOST_OF_A_CHANGE = 12; // characters of both values that fit on one line
// As in _detail.css, in pixels: a character, the least an offset, a term and a cell take, and what fits into a line.
const [CHARACTER, OFFSET, TERM, CELL, ONE_LINE] = [7.83, 24, 36, 18, 346];

export class Readout {
  readonly root = el("div", { class: "where" });
  private readonly question = el("h4", { class: "readout-title" });
  private readonly formula = el("div", { class: "formula", tabindex: 0 });
  private readonly facts = el("dl", { class: "facts" });
  private readonly others = el("p", { class: "others" });
  /** What each button of the others leads to. */
  private aliases: ReturnType<typeof readingsOf> = [];

  constructor(
    private readonly say: Say,
    private readonly marks: ReadonlyMap<number, number>,
    private readonly art: TilesLater | null,
  ) {
    this.formula.setAttribute("role", "math");
    this.root.append(this.question, this.formula, this.facts, this.others);
    this.others.addEventListener("click", ({ target }) => {
      const button = target instanceof Element ? target.closest("button") : null;
      const reading = button === null ? undefined : this.aliases[[...this.others.querySelectorAll("button")].indexOf(button)];
      if (reading === undefined) return;
      const { storage, id } = reading.tensor;
      pick(this.root, { storage, tensor: id, index: reading.index });
      this.formula.focus(); // the button is another's now
    });
  }

  show(state: State, storage: StorageNow, looking: Looking): void {
    const { say } = this;
    const tensor = looking.tensor === null ? undefined : state.tensors.get(looking.tensor);
    const window = tensor === undefined ? null : windowOf(tensor);
    if (!storage.freed && tensor !== undefined && window !== null && looking.index !== null && looking.byte !== null) {
      const name = operand(tensor, say);
      write(this.question, say("ui.memory.where", { element: element(name, looking.index) }));
      this.writeFormula(name, window, looking.index, storage.id);
      this.writeFacts(state, storage, tensor, window, looking.index, looking.byte);
      this.writeOthers(state, storage, tensor, looking.byte);
      return;
    }
    this.clear();
    if (storage.freed) {
      this.question.textContent = freedText(say, storage);
    } else if (looking.byte !== null) {
      this.question.textContent = say("ui.memory.unread", { byte: looking.byte, storage: `S${storage.id}` });
    } else if (tensor !== undefined && window !== null) {
      this.question.textContent = say("ui.memory.noElement", { name: nameOf(tensor, say) });
    } else {
      this.question.textContent = say(storage.tensors.length === 0 ? "ui.memory.noTensor" : "ui.memory.noStrides", { storage: `S${storage.id}` });
    }
  }

  clear(): void {
    for (const part of [this.question, this.formula, this.facts, this.others]) part.replaceChildren();
    this.formula.removeAttribute("aria-label");
  }

  /** Term by term, each with what it is below it: `z[1, 1] = S0[4 + 1·4 + 1·2] = S0[10]`. */
  private writeFormula(name: string, window: Window, index: readonly number[], storage: number): void {
    const { view } = window;
    const cell = view.offset + index.reduce((sum, i, d) => sum + i * (view.stride[d] ?? 0), 0);
    const parts: HTMLElement[] = [];
    const text = (value: string): void => void parts.push(el("span", { class: "term" }, value));
    const term = (value: string, kind: string, label: string): void => {
      parts.push(el("span", { class: `term term-${kind}` }, el("b", {}, value), el("small", {}, label)));
    };
    // The question above names the element already; a long sum begins with the storage.
    const head = element(name, index);
    const takes = (least: number, ...words: readonly (string | number)[]): number => Math.max(least, words.join("").length * CHARACTER);
    const terms = index.reduce((n, i, d) => n + takes(TERM, i, "·", view.stride[d] ?? 0), 0);
    const between = takes(0, head.replace(/[^ -~]/g, "xx"), " = ", "S", storage, "[", " + ".repeat(index.length), "] = S", storage, "[]");
    if (between + takes(OFFSET, view.offset) + terms + takes(CELL, cell) <= ONE_LINE) text(`${head} = `);
    text(`S${storage}[`);
    term(String(view.offset), "offset", this.say("ui.memory.offset"));
    index.forEach((i, d) => {
      text(" + ");
      term(`${i}·${view.stride[d] ?? 0}`, "stride", `${LETTERS[d] ?? "·"}·stride${SUBSCRIPTS[d] ?? ""}`);
    });
    text("]");
    text(" = ");
    const sum = parts.length;
    text(`S${storage}[`);
    term(String(cell), "cell", this.say("ui.memory.cell"));
    text("]");
    set(this.formula, "aria-label", parts.map((part) => (part.querySelector("b") ?? part).textContent).join(""));
    // Never broken in two.
    renew(this.formula, ...parts.slice(0, sum), el("span", { class: "term term-sum" }, ...parts.slice(sum)));
  }

  private writeFacts(state: State, storage: StorageNow, tensor: TensorNow, window: Window, index: readonly number[], byte: number): void {
    const { say } = this;
    const facts: HTMLElement[] = [];
    const fact = (label: string, value: string | HTMLElement, kind = ""): void => {
      facts.push(el("div", { class: kind }, el("dt", {}, say(label)), el("dd", {}, value)));
    };
    fact("ui.memory.byte", window.itemSize === 1 || byte > 9999 ? `+${byte}` : `+${byte} … ${byte + window.itemSize - 1}`);
    const start = BigInt(storage.address);
    fact("ui.memory.address", start === 0n ? say("ui.memory.noAddress") : `0x${(start + BigInt(byte)).toString(16)}`);
    const now = valueOf(tensor, storage.bytes, byte, index);
    const before = state.written.get(storage.id) ?? null;
    const was = before === null || now === null ? null : valueOf(tensor, before, byte, null);
    const tile = now === null ? (this.art?.now?.fact(state, storage, byte, say) ?? null) : null;
    if (was !== null && now !== null && was !== now) {
      const change = el("span", {}, el("span", { class: "old" }, was), " → ", el("b", {}, now));
      fact("ui.memory.value", change, was.length + now.length > MOST_OF_A_CHANGE ? "changed long" : "changed");
    } else if (tile !== null) fact("ui.memory.ofTile", tile[0], tile[1] ? "tile changed" : "tile");
    else {
      const freed = byte + window.itemSize > storage.nbytes;
      const missing = storage.device === "meta" ? "ui.memory.metaValue" : freed ? "ui.memory.noBytes" : "ui.memory.notRecorded";
      fact("ui.memory.value", now ?? say(missing), now === null ? "missing" : "");
    }
    renew(this.facts, ...facts);
  }

  private writeOthers(state: State, storage: StorageNow, tensor: TensorNow, byte: number): void {
    const readings = readingsOf(state, storage, byte);
    const own = readings.find((reading) => reading.tensor === tensor);
    const others = readings.filter((reading) => reading !== own && reading.tensor.names.length > 0);
    this.aliases = others.slice(0, MOST_ALIASES);
    const parts: Child[] = others.length > 0 ? [this.say("ui.memory.alsoRead")] : [];
    for (const { tensor: other, index } of this.aliases) {
      const mark = swatch(this.marks.get(other.id) ?? 0);
      parts.push(el("button", { type: "button", class: "alias" }, mark, el("code", {}, element(operand(other, this.say), index))));
    }
    if (others.length > MOST_ALIASES) parts.push(this.say("ui.memory.more", { n: others.length - MOST_ALIASES }));
    if (own !== undefined && own.elements > 1) {
      parts.push(this.say("ui.memory.sharers", { n: own.elements, name: nameOf(tensor, this.say) }));
    }
    renew(this.others, ...parts);
  }
}

/** A tensor's first name, or words for one that has none. */
export function nameOf(tensor: TensorNow, say: Say): string {
  return tensor.names[0] ?? originText(tensor.origin, say) ?? say("ui.memory.unnamed");
}

/** A tensor where an element of it is written: its name, else the expression that made it. */
function operand(tensor: TensorNow, say: Say): string {
  const { names, origin } = tensor;
  return names[0] ?? (origin?.kind === "result" ? `(${origin.code})` : say("ui.memory.unnamed"));
}

/** What made a tensor, where there is little room. */
export function originShort(origin: Origin | null): string | null {
  if (origin === null) return null;
  return origin.kind === "inside" ? `${origin.api}(…)` : origin.code;
}

/** What made a tensor, in words; null when that is not known. */
export function originText(origin: Origin | null, say: Say): string | null {
  return origin === null ? null : say(`origin.${origin.kind}`, { ...origin });
}

/** The message for a holder that has no expression; null for one that has. */
export function unnamedHolder(holder: string | undefined): string | null {
  if (holder === UNNAMED_HOLDERS["cycle"]) return "ui.memory.heldByCycle";
  return holder === UNNAMED_HOLDERS["unknown"] ? "ui.memory.heldByUnknown" : null;
}

/** `S2 freed by line 9`; beside its label without the name. */
export function freedText(say: Say, { id, freedLine }: StorageNow, named = true): string {
  const about = { storage: `S${id}`, line: freedLine };
  const known = freedLine === null ? "ui.memory.freed" : "ui.memory.freedByLine";
  return say(named ? known : `${known}Here`, about);
}

/** A value in full: from bytes, else from the nested list of tensors whose values do not follow from bytes. */
function valueOf(tensor: TensorNow, bytes: Uint8Array | null, byte: number, index: readonly number[] | null): string | null {
  const dtype = shortDtype(tensor.view.dtype);
  const found = index === null || bytes !== null ? undefined : recordedAt(tensor, index);
  if (found !== undefined) return typeof found === "string" ? found : exactText(found, dtype);
  const value = bytes === null ? null : readValue(bytes, byte, tensor.view);
  return value === null ? null : exactText(value, dtype);
}
