/**
 * Lines that open into their sub-expressions and operations: a button beside each line that ran some, or `e`.
 *
 * What is opened stays open, also when the same program is run again, and shows the execution that the step
 * shows. Each ladder is as high as that of its line's largest execution: stepping moves nothing.
 */
import { Executions } from "../model/executions";
import { History } from "../model/history";
import { Ladders, type Rung } from "../model/ladder";
import { stepOfLine } from "../model/outline";
import type { State } from "../model/state";
import type { Extra, Feature, Stage } from "../stage";
import { el, set } from "../views/dom";
import { keptRows, MOST_OPS, Rungs } from "./rungs";

/** Pixels, as the stylesheet has them. */
const CAPTION = 26;
const ROW = 22;
const GAP = 8;
/** Executions of a line whose heights are compared. */
const MOST_EXECUTIONS = 60;

interface Opened {
  readonly chevron: HTMLButtonElement;
  readonly box: HTMLElement;
  /** What it shows: the step, and whether that is still to come. */
  shown: string;
}

/** An event: the reader opened or closed a line. */
export const OPENED_EVENT = "line-opened";

export interface LineOpened {
  readonly line: number;
  readonly on: boolean;
}

/** What a player's reader has opened, of which program. */
const kept = new WeakMap<Stage["player"], { readonly source: string; readonly lines: Set<number> }>();

let ladders = 0;

export const LADDER: Feature = (stage) => new LadderFeature(stage);

class LadderFeature implements Extra {
  readonly keys = [["e", "open-line"]] as const;
  private readonly ladders: Ladders;
  private readonly rungs: Rungs;
  private readonly executions: Executions;
  private readonly lines = new Map<number, Opened>();
  private readonly open: Set<number>;
  private history: History | null = null;
  private state: State | null = null;

  constructor(private readonly stage: Stage) {
    const { trace, outline, player } = stage;
    this.ladders = new Ladders(trace, outline);
    this.rungs = new Rungs(stage);
    this.executions = new Executions(outline);
    const before = kept.get(player);
    this.open = before?.source === trace.source ? before.lines : new Set();
    kept.set(player, { source: trace.source, lines: this.open });
    player.codeBody.classList.add("opens");
    for (const [line, steps] of outline.stepsOfLine) if (steps.some((step) => this.didSomething(step))) this.add(line);
    for (const line of this.open) if (!this.lines.has(line)) this.open.delete(line);
    for (const [line, opened] of this.lines) this.set(line, opened, this.open.has(line));
  }

  show(state: State): void {
    this.state = state;
    const current = this.stage.outline.steps[state.step - 1]?.line;
    for (const [line, { chevron }] of this.lines) set(chevron, "tabindex", line === current || this.open.has(line) ? "0" : "-1");
    for (const line of this.open) this.fill(line);
  }

  key(key: string): boolean {
    if (key !== "e") return false;
    const line = this.stage.player.currentLine;
    if (line !== null) this.toggle(line);
    return true;
  }

  private didSomething(step: number): boolean {
    const events = this.stage.trace.steps[step - 1]?.events ?? [];
    const outline = this.stage.outline.steps[step - 1];
    const calls = (outline?.from ?? step) < step && outline?.statement.kind !== "ClassDef";
    return calls || events.some(({ kind }) => kind === "op" || kind === "api");
  }

  private add(line: number): void {
    const { code, messages } = this.stage;
    const row = code.row(line);
    if (row === null) return;
    ladders += 1;
    const label = messages.text("ui.ladder.label", { line });
    const box = el("div", { class: "ladder", id: `ladder-${ladders}`, role: "group", "aria-label": label, hidden: true });
    const chevron = el("button", { type: "button", class: "chevron", tabindex: -1, "aria-expanded": "false", "aria-controls": box.id });
    chevron.setAttribute("aria-label", label);
    chevron.title = `${label} (e)`;
    chevron.addEventListener("click", (event) => {
      event.stopPropagation();
      this.toggle(line);
    });
    box.addEventListener("click", (event) => event.stopPropagation());
    box.addEventListener("keydown", (event) => this.move(event, line));
    row.querySelector(".line-number")?.after(chevron);
    row.append(box);
    this.lines.set(line, { chevron, box, shown: "" });
  }

  private toggle(line: number): void {
    const opened = this.lines.get(line);
    if (opened === undefined) return;
    const on = !this.open.has(line);
    if (on) this.open.add(line);
    else this.open.delete(line);
    this.set(line, opened, on);
    if (on) this.fill(line);
    else if (opened.box.contains(document.activeElement)) opened.chevron.focus();
    opened.box.dispatchEvent(new CustomEvent<LineOpened>(OPENED_EVENT, { detail: { line, on }, bubbles: true }));
  }

  private set(line: number, { chevron, box }: Opened, on: boolean): void {
    box.hidden = !on;
    // Its rungs are as wide as the window of the code, for which the browser lays the code out by itself.
    this.stage.player.codeBody.classList.toggle("has-ladders", this.open.size > 0);
    chevron.setAttribute("aria-expanded", String(on));
    chevron.tabIndex = on || line === this.stage.player.currentLine ? 0 : -1;
    if (on) this.reserve(line, box);
  }

  /** As high as the line's largest execution. */
  private reserve(line: number, box: HTMLElement): void {
    const steps = this.stage.outline.stepsOfLine.get(line) ?? [];
    const every = Math.max(1, Math.ceil(steps.length / MOST_EXECUTIONS));
    let [most, narrow] = [0, 0];
    for (const [index, step] of steps.entries()) {
      if (index % every !== 0 && index !== steps.length - 1) continue;
      const rungs = this.ladders.of(step);
      const height = rungs.reduce((sum, rung) => sum + GAP + ROW * rowsOf(rung), 0);
      most = Math.max(most, height);
      narrow = Math.max(narrow, height + ROW * rungs.filter((rung) => rung.nodes.length > 0 && keptRows(rung) === 0).length);
    }
    box.style.setProperty("--height", `${CAPTION + Math.max(ROW + GAP, most)}px`);
    box.style.setProperty("--height-narrow", `${CAPTION + Math.max(ROW + GAP, narrow)}px`);
  }

  private fill(line: number): void {
    const { outline, messages } = this.stage;
    const opened = this.lines.get(line);
    const { state } = this;
    const step = state === null ? null : stepOfLine(outline, line, state.step);
    if (opened === undefined || state === null || step === null) return;
    const later = step > state.step;
    const shown = `${step} ${later}`;
    if (opened.shown === shown) return;
    opened.shown = shown;
    const { box } = opened;
    const focused = [...box.querySelectorAll(".rung")].indexOf(document.activeElement?.closest(".rung") as Element);
    const at = this.executions.at(line, step);
    const execution = at === null || at.of === 1 ? null : messages.text("ui.code.execution", { pass: at.pass, of: at.of });
    const caption = [messages.text(later ? "ui.ladder.later" : "ui.ladder.step", { step }), execution].filter((each) => each !== null).join(" · ");
    this.history ??= new History(this.stage.trace);
    const then = step === state.step ? state : this.history.state(step);
    box.classList.toggle("later", later);
    box.replaceChildren(el("p", { class: "ladder-step" }, caption), this.rungs.list(this.ladders.of(step), then));
    const rows = [...box.querySelectorAll<HTMLElement>(".rung")];
    rows.forEach((row, index) => (row.tabIndex = index === Math.max(0, focused) ? 0 : -1));
    if (focused >= 0) rows[Math.min(focused, rows.length - 1)]?.focus({ preventScroll: true });
  }

  /** Up and down go from rung to rung, Escape closes. */
  private move(event: KeyboardEvent, line: number): void {
    const rows = [...(this.lines.get(line)?.box.querySelectorAll<HTMLElement>(".rung") ?? [])];
    const at = rows.findIndex((row) => row.contains(document.activeElement));
    const to = { ArrowDown: at + 1, ArrowUp: at - 1 }[event.key];
    if (event.key === "Escape") this.toggle(line);
    else if (to === undefined || at < 0) return;
    else if (rows[to] !== undefined) {
      rows.forEach((row, index) => (row.tabIndex = index === to ? 0 : -1));
      rows[to]?.focus();
    }
    event.preventDefault();
    event.stopPropagation();
  }
}

function rowsOf(rung: Rung): number {
  if (rung.kind === "call") return 1;
  return 1 + Math.min(rung.ops.length, MOST_OPS) + (rung.ops.length > MOST_OPS ? 1 : 0) + keptRows(rung);
}
