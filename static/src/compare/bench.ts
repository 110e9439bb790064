/**
 * Two programs side by side, stepped together: a mode of the playground, loaded when first asked for.
 *
 * The rows and what differs in them are computed in `pair.ts`; this runs both programs, keeps
 * both sides at the same row, and the address at both programs.
 */
import { OPENED_EVENT, type LineOpened } from "../features/ladder";
import { LENS_EVENT } from "../features/memory";
import { linkToPair } from "../model/pair-link";
import type { Messages } from "../model/messages";
import { Pair, SIDES, type Sentence, type Side } from "./pair";
import { sameProgram, type Program } from "../model/program";
import { LAYERS } from "../model/state";
import type { Limits } from "../playground/given";
import type { Trace } from "../schema/trace.gen";
import { PLAY_EVENT } from "../views/controls";
import { el } from "../views/dom";
import { helpSheet } from "../views/help";
import { sentences } from "../views/sentence";
import { Transport } from "../views/transport";
import { FactsView } from "./facts";
import { SideBench } from "./side";
import { AlignedSteps } from "./steps";

/** A program, with its trace when it has run already. */
export interface Contender {
  readonly program: Program;
  readonly trace: Trace | null;
}

export interface BenchHooks {
  /** The reader goes back to one program. */
  close(left: Contender, step: number): void;
  share(link: string): void;
}

export interface Wanted {
  readonly left: Contender;
  readonly right: Contender;
  /** Null: where the two part. */
  readonly row: number | null;
  /** The reader wants to write the right one. */
  readonly edit: boolean;
  /** The right one is the left with a change that was offered: it is said whether that was enough. */
  readonly fix: boolean;
}

const PLAY_MS = 900;
const KEEP_MS = 150;

export class Bench {
  readonly element: HTMLElement;
  private readonly sides: Readonly<Record<Side, SideBench>>;
  private readonly summary = el("p", { class: "compare-summary-text", role: "status", tabindex: 0 });
  private readonly facts: FactsView;
  private readonly controls: Transport;
  private readonly next = el("button", { type: "button", class: "small-button" });
  private readonly strip = el("div", { class: "compare-strip-place" });
  private pair: Pair | null = null;
  private steps: AlignedSteps | null = null;
  private row = 0;
  private wanted: number | null;
  /** The text of the right program while it is the left one with a change that was offered. */
  private readonly fix: string | null;
  private timer: ReturnType<typeof setInterval> | null = null;
  private saving: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly messages: Messages,
    limits: Limits,
    given: Wanted,
    private readonly hooks: BenchHooks,
  ) {
    const side = (name: Side): SideBench => new SideBench(name, given[name].program, messages, limits, { ran: () => this.ran(), moved: (of, step) => this.moved(of, step) });
    this.wanted = given.row;
    this.fix = given.fix ? given.right.program.source : null;
    this.facts = new FactsView(messages);
    this.controls = new Transport(messages);
    this.sides = { left: side("left"), right: side("right") };
    this.element = el("div", { class: "compare", "data-shown": "left" }, this.top(), this.tabs(), el("div", { class: "compare-sides" }, this.sides.left.element, this.sides.right.element), this.bottom());
    this.element.addEventListener("go-to-step", (event) => this.user((event as CustomEvent<number>).detail));
    this.element.addEventListener(PLAY_EVENT, () => this.playOrPause());
    this.element.addEventListener("click", (event) => this.sameFigure(event));
    this.element.addEventListener(LENS_EVENT, (event) => this.otherSide(event)?.lens((event as CustomEvent<string | null>).detail));
    this.element.addEventListener(OPENED_EVENT, (event) => this.sameLine(event as CustomEvent<LineOpened>));
    addEventListener("keydown", this.key, { capture: true });
    void this.start(given);
  }

  /** Ends what goes on; the page takes the element away. */
  close(): void {
    removeEventListener("keydown", this.key, { capture: true });
    this.pause();
    clearTimeout(this.saving);
    this.steps?.close();
    for (const side of SIDES) this.sides[side].close();
  }

  /** These are the two that are shown. */
  shows(left: Program, right: Program): boolean {
    return sameProgram(this.sides.left.program, left) && sameProgram(this.sides.right.program, right);
  }

  /** Goes to a row, as near as there is one. */
  go(row: number): void {
    if (this.pair === null) return;
    this.row = Math.max(Math.min(1, this.pair.rows.length), Math.min(row, this.pair.rows.length));
    this.show();
  }

  private async start(given: Wanted): Promise<void> {
    for (const name of SIDES) {
      const { program, trace } = given[name];
      if (trace !== null) this.sides[name].show(trace, program);
      else await this.sides[name].open(program);
    }
    if (given.edit) this.sides.right.edit();
  }

  /** A side has a new trace. */
  private ran(): void {
    const [left, right] = [this.sides.left.trace, this.sides.right.trace];
    if (left === null || right === null) {
      for (const side of SIDES) this.sides[side].loadAlone();
      this.summary.textContent = this.messages.text("ui.compare.waiting");
      return;
    }
    this.steps?.close();
    this.pair = new Pair({ left, right });
    this.steps = new AlignedSteps(this.pair, this.messages);
    this.strip.replaceChildren(this.steps.element);
    const row = this.wanted ?? this.pair.parting() ?? this.pair.rows.length;
    this.wanted = null;
    this.row = Math.max(0, Math.min(row, this.pair.rows.length));
    for (const side of SIDES) this.sides[side].load(this.pair, this.pair.step(side, this.row));
    const words = sentences(this.messages, [...this.enough(right), ...this.pair.summary()]);
    this.summary.replaceChildren(...words);
    this.show();
  }

  /** What came of a change that was offered. */
  private enough({ source, outcome }: Trace): Sentence[] {
    if (source !== this.fix) return [];
    const how = { finished: "works", raised: "fails" }[outcome.kind as string] ?? "stopped";
    return [{ id: `ui.compare.fix.ran.${how}`, args: { line: outcome.line ?? 0, what: outcome.type ?? outcome.reason ?? outcome.kind } }];
  }

  private show(): void {
    const { pair } = this;
    if (pair === null) return;
    for (const side of SIDES) this.sides[side].place(pair.step(side, this.row));
    const pairNow = pair.rows[this.row - 1];
    for (const side of SIDES) this.sides[side].element.classList.toggle("waits", pairNow !== undefined && pairNow[side] === null);
    this.controls.show(this.row, pair.rows.length, this.timer !== null);
    this.steps?.show(this.row);
    const place = this.messages.text("ui.step.of", { step: this.row, steps: pair.rows.length });
    this.facts.show(pair.differences(this.row), pair.fresh(this.row), place);
    this.next.setAttribute("aria-disabled", String(pair.next(this.row) === null));
    clearTimeout(this.saving);
    this.saving = setTimeout(() => void this.write(), KEEP_MS);
  }

  private moved(side: Side, step: number): void {
    if (this.pair === null) return;
    this.pause();
    this.go(this.pair.rowOf(side, step));
  }

  private user(row: number): void {
    this.pause();
    this.go(row);
  }

  private playOrPause(): void {
    if (this.timer !== null) {
      this.pause();
      return;
    }
    if (this.pair === null) return;
    if (this.row >= this.pair.rows.length) this.go(1);
    this.timer = setInterval(() => {
      this.go(this.row + 1);
      if (this.row >= (this.pair?.rows.length ?? 0)) this.pause();
    }, PLAY_MS / this.controls.speed);
    this.show();
  }

  private pause(): void {
    if (this.timer === null) return;
    clearInterval(this.timer);
    this.timer = null;
    this.show();
  }

  private async link(): Promise<string> {
    return linkToPair(this.sides.left.program, this.sides.right.program, this.pair === null ? null : this.row);
  }

  private async write(): Promise<void> {
    const hash = await this.link();
    if (this.element.isConnected && hash !== location.hash) history.replaceState(null, "", hash);
  }

  /** Both sides show the same picture. */
  private sameFigure(event: MouseEvent): void {
    const tab = event.target instanceof Element ? event.target.closest<HTMLElement>(".figure-tabs [data-figure]") : null;
    if (tab === null) return;
    for (const side of SIDES) {
      if (!this.sides[side].element.contains(tab)) this.sides[side].figure(tab.dataset["figure"] ?? "");
    }
  }

  private otherSide({ target }: Event): SideBench | undefined {
    return SIDES.map((side) => this.sides[side]).find(({ element }) => target instanceof Node && !element.contains(target));
  }

  /** Lines that belong together open together, so that those below stay beside each other. */
  private sameLine(event: CustomEvent<LineOpened>): void {
    const other = this.otherSide(event);
    const [here, there] = other?.side === "left" ? (["right", "left"] as const) : (["left", "right"] as const);
    const line = this.pair?.lines.find((pair) => pair[here] === event.detail.line)?.[there] ?? null;
    if (line !== null) other?.openLine(line, event.detail.on);
  }

  /** The page's keys belong to the rows, wherever the focus is but in an editor. */
  private readonly key = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.element.isConnected) return;
    const target = event.target instanceof Element ? event.target : null;
    if (target?.closest("input, textarea, select, [contenteditable], dialog, .cm-editor, .editor") != null) return;
    if (this.act(event.key, target)) {
      event.preventDefault();
      event.stopPropagation();
    }
  };

  private act(key: string, target: Element | null): boolean {
    const { pair } = this;
    if (pair === null) return false;
    const layer = LAYERS[Number(key) - 1];
    if (layer !== undefined || key === "n") {
      const row = pair.next(this.row, layer ?? null);
      if (row !== null) this.user(row);
      return true;
    }
    const moves: Readonly<Record<string, number>> = { ArrowLeft: this.row - 1, ArrowRight: this.row + 1, Home: 1, End: pair.rows.length };
    const to = moves[key];
    if (to !== undefined && target?.closest("[role=grid], [role=tablist], [role=radiogroup]") == null) {
      this.user(to);
      return true;
    }
    if (key === " " && target?.closest("button, a, summary, [role=tab], [role=button]") == null) {
      this.playOrPause();
      return true;
    }
    if (key === "?") {
      const sheet = helpSheet(this.messages, [["n", "difference"]]);
      this.element.append(sheet);
      sheet.showModal();
      return true;
    }
    return false;
  }

  private top(): HTMLElement {
    const say = this.messages.text;
    const button = (id: string, act: () => void): HTMLElement => {
      const made = el("button", { type: "button", class: "button" }, say(id));
      made.addEventListener("click", act);
      return made;
    };
    const swap = button("ui.compare.swap", () => void this.swap());
    const share = button("ui.share.button", () => void this.link().then((hash) => this.hooks.share(hash)));
    const close = button("ui.compare.close", () => {
      const { program, trace, step } = this.sides.left;
      this.hooks.close({ program, trace }, step);
    });
    this.summary.textContent = say("ui.compare.waiting");
    const title = el("h2", {}, say("ui.compare.title"));
    return el("section", { class: "card compare-top" }, el("div", { class: "compare-said" }, title, this.summary), el("div", { class: "compare-actions" }, swap, share, close));
  }

  /** The sides change places. */
  private async swap(): Promise<void> {
    const [left, right] = SIDES.map((side) => ({ program: this.sides[side].program, trace: this.sides[side].trace }));
    if (left === undefined || right === undefined || left.trace === null || right.trace === null) return;
    this.wanted = this.row;
    this.sides.left.trace = null;
    this.sides.right.show(left.trace, left.program);
    this.sides.left.show(right.trace, right.program);
  }

  /** Where there is room for one side only, which one. */
  private tabs(): HTMLElement {
    const tabs = el("div", { class: "compare-tabs segments", role: "group", "aria-label": this.messages.text("ui.compare.which") });
    for (const side of SIDES) {
      const tab = el("button", { type: "button", "aria-pressed": String(side === "left") }, this.messages.text(`ui.compare.${side}`));
      tab.addEventListener("click", () => {
        this.element.dataset["shown"] = side;
        for (const each of tabs.children) each.setAttribute("aria-pressed", String(each === tab));
      });
      tabs.append(tab);
    }
    return tabs;
  }

  private bottom(): HTMLElement {
    this.next.append(this.messages.text("ui.compare.next"), " ", el("kbd", {}, "n"));
    this.next.addEventListener("click", () => {
      const row = this.pair?.next(this.row) ?? null;
      if (row !== null) this.user(row);
    });
    const header = el("header", {}, el("h2", {}, this.messages.text("ui.compare.differences")), el("span", { class: "space" }), this.controls.element, this.next);
    return el("section", { class: "card compare-bottom" }, header, el("div", { class: "compare-body" }, this.strip, this.facts.element));
  }
}
