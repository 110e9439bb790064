/**
 * The program: colours, the four lamps of each line, the current line, what is still to come.
 *
 * A lamp is filled when the execution shown lit it, outlined when another one does, earlier or later; lines
 * executed more than once say which execution is shown. A click on a line asks for its next execution. The
 * piece of an expression that failed stays underlined; the calls it was reached by and its cause are marked.
 */
import { indexOfColumn, segments, tokenize, type Token } from "../model/python";
import { Executions } from "../model/executions";
import { nextExecution, type Outline } from "../model/outline";
import { LAYERS, type Layer, type State } from "../model/state";
import type { SourceRange, Trace } from "../schema/trace.gen";
import { el, set, write } from "./dom";
import { layerIcon } from "./icons";
import { goTo, type Say, type View } from "./view";

/** Pixels that stay in sight above and below the current line: about one line. */
const CONTEXT = 28;

interface Line {
  readonly row: HTMLElement;
  readonly number: HTMLButtonElement;
  readonly source: HTMLElement;
  readonly tokens: readonly Token[];
  readonly lamps: ReadonlyMap<Layer, Element>;
  readonly lampRow: HTMLElement | null;
  readonly count: HTMLElement | null;
  /** First line of the statement it belongs to; 0 when it belongs to none. */
  owner: number;
  /** The first step that executes it; infinite when none does. */
  first: number;
}

/** Where lines stand, and how high their window is, as of the last time the browser laid them out. */
interface Measures {
  readonly tops: readonly number[];
  readonly bottoms: readonly number[];
  readonly room: number;
  /** Of all there is to scroll. */
  readonly height: number;
}

export class CodeView implements View {
  private lines: Line[] = [];
  private list: HTMLElement = el("ol");
  private step = -1;
  private arrived = false;
  private current: number | null = null;
  private pointed: readonly SourceRange[] = [];
  // Both are kept, because asking while views are changing would make the browser lay out the page.
  private measures: Measures | null = null;
  private scrolled = 0;
  /** The reader has not scrolled away from the current line. */
  private following = false;
  private readonly executions: Executions;
  private trace: Trace | null = null;
  private say: Say = (id) => id;

  constructor(private readonly outline: Outline) {
    this.executions = new Executions(outline);
  }

  /** The row of a line, for what is added to it. */
  row(line: number): HTMLElement | null {
    return this.lines[line - 1]?.row ?? null;
  }

  mount(root: HTMLElement, trace: Trace, say: Say): void {
    this.trace = trace;
    this.say = say;
    this.list = el("ol", { class: "code", "aria-label": say("ui.code.label") });
    const lines = tokenize(trace.source);
    if (lines.length > 1 && lines.at(-1)?.length === 0) lines.pop();
    this.lines = lines.map((tokens, index) => this.line(index + 1, tokens, trace, say));
    for (const { range } of trace.statements) {
      const first = this.outline.stepsOfLine.get(range.line)?.[0] ?? Infinity;
      for (let number = range.line; number <= range.end_line; number += 1) {
        const line = this.lines[number - 1];
        if (line === undefined || line.first <= first) continue;
        line.owner = range.line;
        line.first = first;
      }
    }
    for (const line of this.lines) {
      this.paint(line, trace);
      const executed = line.first !== Infinity;
      line.row.classList.toggle("never", !executed);
      line.number.disabled = !executed;
    }
    this.list.append(...this.lines.map((line) => line.row));
    this.list.addEventListener("click", (event) => this.clicked(event));
    this.list.addEventListener("keydown", (event) => this.moved(event));
    root.replaceChildren(this.list);
    this.scrolled = root.scrollTop;
    this.watch(root);
  }

  show(state: State): void {
    this.arrived ||= state.step !== this.step;
    this.step = state.step;
    const step = state.step === 0 ? undefined : this.outline.steps[state.step - 1];
    const calling = new Set(this.outline.callers(state.step).map((caller) => caller.line));
    this.lines.forEach((line, index) => {
      const number = index + 1;
      const range = step?.statement.range;
      const current = range !== undefined && range.line <= number && number <= range.end_line;
      line.row.classList.toggle("now", current);
      line.row.classList.toggle("calling", !current && calling.has(line.owner));
      line.row.classList.toggle("coming", line.first > state.step && !current);
      set(line.number, "tabindex", number === (range?.line ?? 1) ? "0" : "-1");
      set(line.row, "aria-current", number === range?.line ? "step" : null);
      this.light(line, number, state.lamps.get(number) ?? []);
    });
    this.current = step?.line ?? null;
    this.following = true;
  }

  /** A step brings its line into sight; pointing at something leaves the window where the reader has it. */
  settle(): void {
    if (this.arrived && this.current !== null) this.reveal(this.current);
    this.arrived = false;
  }

  /** Marks pieces of the program, as long as the reader points at what they did. */
  point(...ranges: readonly (SourceRange | null)[]): void {
    const before = this.pointed;
    this.pointed = ranges.filter((range) => range !== null);
    if (this.trace === null) return;
    for (const each of [...before, ...this.pointed]) {
      for (let number = each.line; number <= each.end_line; number += 1) {
        const line = this.lines[number - 1];
        if (line !== undefined) this.paint(line, this.trace);
      }
    }
  }

  private line(number: number, tokens: readonly Token[], trace: Trace, say: Say): Line {
    const layers = this.outline.lamps.get(number) ?? [];
    const lamps = new Map<Layer, Element>();
    const times = this.executions.at(number, 0)?.of ?? 0;
    const often = times > 1;
    const count = often ? el("span", { class: "line-count", "aria-hidden": "true" }) : null;
    // As wide as its last text: the lamps stay where they are.
    count?.style.setProperty("min-width", `${2 * String(times).length + 0.6}ch`);
    let lampRow: HTMLElement | null = null;
    if (layers.length > 0 || often) {
      lampRow = el("span", { class: often ? "lamps counted" : "lamps", role: "img" }, count);
      for (const layer of layers.length > 0 ? LAYERS : []) {
        const lamp = layers.includes(layer) ? layerIcon(layer) : el("span", { class: "lamp-off" });
        if (layers.includes(layer)) lamps.set(layer, lamp);
        lampRow.append(lamp);
      }
    }
    const button = el("button", { type: "button", class: "line-number", tabindex: -1 }, String(number));
    button.setAttribute("aria-label", say("ui.code.line", { line: number }));
    const source = el("code", { class: "line-source" });
    const badge = badgeOf(number, trace, say);
    const row = el("li", { class: failureOf(number, trace, say) === null ? "line" : "line failed", "data-line": number }, button, source, badge, lampRow);
    return { row, number: button, source, tokens, lamps, lampRow, count, owner: 0, first: Infinity };
  }

  private paint(line: Line, trace: Trace): void {
    const number = Number(line.row.dataset["line"]);
    const text = line.tokens.map((token) => token.text).join("");
    const marks = [
      { range: trace.outcome.range, name: "fault" },
      ...this.pointed.map((range) => ({ range, name: "pointed" })),
    ].flatMap(({ range, name }) => {
      if (range === null || number < range.line || number > range.end_line) return [];
      const indent = text.length - text.trimStart().length;
      const from = number === range.line ? indexOfColumn(text, range.column) : indent;
      const to = number === range.end_line ? indexOfColumn(text, range.end_column) : text.length;
      return [{ from, to, name }];
    });
    line.source.replaceChildren(
      ...segments(line.tokens, marks).map(({ text: piece, kind, marks: names }) => {
        const classes = [kind === "plain" ? "" : `t-${kind}`, ...names].filter((name) => name !== "").join(" ");
        return classes === "" ? document.createTextNode(piece) : el("span", { class: classes }, piece);
      }),
    );
  }

  private light(line: Line, number: number, lit: readonly Layer[]): void {
    if (line.lampRow === null) return;
    const shown = this.executions.at(number, this.step);
    for (const [layer, lamp] of line.lamps) lamp.classList.toggle("coming", shown?.lamps.has(layer) !== true);
    const words = [...line.lamps.keys()].map((layer) => {
      const when = shown?.lamps.has(layer) === true ? null : lit.includes(layer) ? "ui.code.earlier" : "ui.code.later";
      const name = this.say(`ui.layer.${layer}`);
      return when === null ? name : this.say(when, { layer: name });
    });
    if (line.count !== null && shown !== null) {
      write(line.count, `${shown.pass}/${shown.of}`);
      words.unshift(this.say("ui.code.execution", { pass: shown.pass, of: shown.of }));
    }
    const said = words.join(this.say("list.comma"));
    set(line.lampRow, "aria-label", said);
    set(line.lampRow, "title", said);
  }

  private clicked(event: MouseEvent): void {
    const selected = getSelection()?.toString() ?? "";
    if (!(event.target instanceof Element) || selected !== "") return;
    const number = Number(event.target.closest<HTMLElement>(".line")?.dataset["line"]);
    const owner = this.lines[number - 1]?.owner ?? 0;
    const step = nextExecution(this.outline, this.step, owner);
    if (step !== null) goTo(this.list, step);
  }

  /** Up and down go from line number to line number. */
  private moved(event: KeyboardEvent): void {
    if ((event.key !== "ArrowUp" && event.key !== "ArrowDown") || !(event.target instanceof HTMLElement)) return;
    const row = event.target.closest<HTMLElement>(".line");
    if (row === null) return;
    const way = event.key === "ArrowUp" ? -1 : 1;
    let index = Number(row.dataset["line"]) - 1 + way;
    while (this.lines[index]?.number.disabled === true) index += way;
    this.lines[index]?.number.focus();
    event.preventDefault();
  }

  /** Keeps what `reveal` needs to know of the window, for as long as the list is in it. */
  private watch(root: HTMLElement): void {
    const scrolled = (): void => {
      if (Math.abs(root.scrollTop - this.scrolled) > 1) this.following = false;
      this.scrolled = root.scrollTop;
      this.list.classList.toggle("aside", root.scrollLeft > 0);
    };
    const observer = new ResizeObserver(() => {
      this.measures = this.measure();
      if (this.list.parentElement === root) {
        // What came above or below took room: the current line stays in sight.
        this.scrolled = root.scrollTop;
        if (this.following && this.current !== null) this.reveal(this.current);
        return;
      }
      observer.disconnect();
      root.removeEventListener("scroll", scrolled);
    });
    root.addEventListener("scroll", scrolled, { passive: true });
    observer.observe(root);
    observer.observe(this.list);
  }

  private measure(): Measures | null {
    const room = this.list.parentElement?.clientHeight ?? 0;
    if (room === 0) return null;
    const from = this.list.offsetTop;
    const beyond = this.list.getBoundingClientRect().width - (this.list.parentElement?.clientWidth ?? 0);
    this.list.style.setProperty("--beyond", `${beyond}px`);
    const bottoms = this.lines.map(({ row }) => row.offsetTop + row.offsetHeight - from);
    const tops = this.lines.map(({ row }) => row.offsetTop - from);
    return { tops, bottoms, room, height: this.list.parentElement?.scrollHeight ?? 0 };
  }

  /** Scrolls the list, and only the list, until the current line is seen. */
  private reveal(number: number): void {
    const box = this.list.parentElement;
    if (box === null) return;
    this.measures ??= this.measure();
    const [top, bottom] = [this.measures?.tops[number - 1], this.measures?.bottoms[number - 1]];
    if (this.measures === null || top === undefined || bottom === undefined) return;
    const { room, height } = this.measures;
    const margin = Math.min(CONTEXT, room / 4);
    let to = this.scrolled;
    if (bottom + margin > to + room) to = bottom + margin - room;
    // What was opened below it may be higher than the window: then its top is seen.
    if (top - margin < to) to = top - margin;
    to = Math.max(0, Math.min(to, height - room));
    if (to === this.scrolled) return;
    this.scrolled = to;
    box.scrollTop = to;
  }
}

/** Where it failed, by which calls it came there, and what made it fail; else where something is to be noticed. */
function badgeOf(number: number, trace: Trace, say: Say): HTMLElement | null {
  const noted = trace.notes.some(({ line }) => line === number);
  return failureOf(number, trace, say) ?? (noted ? el("span", { class: "line-cause", role: "img", title: say("ui.changes.note"), "aria-label": say("ui.changes.note") }, "!") : null);
}

function failureOf(number: number, { outcome, explanation }: Trace, say: Say): HTMLElement | null {
  if (outcome.line === number) return el("span", { class: "line-fault" }, `✕ ${say(`ui.code.${outcome.kind}`)}`);
  if (outcome.kind !== "raised") return null;
  if (explanation?.caused_by === number) return el("span", { class: "line-cause" }, `→ ${say("ui.code.cause")}`);
  return outcome.traceback.includes(number) ? el("span", { class: "line-fault" }, `✕ ${say("ui.code.inside")}`) : null;
}
