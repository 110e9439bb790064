/**
 * One of two programs: its code beside the other's, its pictures, its device, and an editor for it.
 *
 * It runs what it is given and tells `Hooks` when a trace is there and when the reader goes to a step
 * on this side. Which step belongs to which of the other side, it does not know.
 */
import { FIGURE_FEATURES } from "../features/figures";
import type { Messages } from "../model/messages";
import type { Pair, Side } from "./pair";
import type { Program } from "../model/program";
import { Problem } from "../model/run";
import { Player, type StepChange } from "../player";
import { DeviceMenu } from "../playground/device-menu";
import { Editing } from "../playground/editing";
import { recordedTraceOf, type Limits } from "../playground/given";
import { Notice } from "../playground/notice";
import { Runs, type Going } from "../playground/runs";
import type { Trace } from "../schema/trace.gen";
import type { Arrangement, Placed, Stage } from "../stage";
import { DevicesView } from "../views/devices";
import { StorageView } from "../views/storage";
import { TilesLater } from "../views/tiles-later";
import { el } from "../views/dom";
import { OutcomeView } from "../views/outcome";

export interface SideHooks {
  /** A run gave a trace: both sides may be shown again. */
  ran(): void;
  /** The reader went to a step of this side. */
  moved(side: Side, step: number): void;
}

const PLACE: Arrangement = { name: "compact", arrange, figures: { devices: () => new DevicesView(), memory: () => new StorageView(new TilesLater()) } };

function arrange({ player, root, outline, messages, code, banner, figures }: Stage): Placed[] {
  const pictures = el("div", { class: "player-figures" });
  root.replaceChildren(banner, el("div", { class: "player-main" }, player.codeBody, pictures));
  return [[new OutcomeView(outline, messages, true), banner], [code, player.codeBody], ...figures(pictures)];
}

export class SideBench {
  readonly element: HTMLElement;
  trace: Trace | null = null;
  private readonly player: Player;
  private readonly editing: Editing;
  private readonly menu: DeviceMenu;
  private readonly notice: Notice;
  private readonly runs: Runs;
  private readonly waiting = el("p", { class: "compare-waiting", role: "status", hidden: true });

  constructor(
    readonly side: Side,
    public program: Program,
    private readonly messages: Messages,
    private readonly limits: Limits,
    private readonly hooks: SideHooks,
  ) {
    const arena = el("div");
    this.player = new Player(arena, messages, {
      arrangement: PLACE, keys: "inside", figures: ["memory", "graph", "devices"], code: true, controls: false, features: FIGURE_FEATURES,
    });
    this.notice = new Notice(messages);
    this.runs = new Runs((going) => this.wait(going));
    this.menu = new DeviceMenu(messages, limits.devices, (device) => void this.run({ ...this.written, device }));
    this.editing = new Editing(messages, this.player, { edited: () => undefined, wantsSteps: () => void this.wantsSteps() });
    const title = el("h2", { id: `compare-${side}` }, messages.text(`ui.compare.${side}`));
    const header = el("header", {}, title, this.menu.badge, el("span", { class: "space" }), this.menu.element, this.player.tools.page);
    this.element = el("section", { class: "card compare-side", "data-side": side, "aria-labelledby": title.id }, header, this.notice.element, this.waiting, arena);
    this.editing.source = program.source;
    this.menu.show(program.device, null);
    // A step of one side is not a step of the page.
    for (const name of ["go-to-step", "pick"]) this.element.addEventListener(name, (event) => event.stopPropagation());
    this.element.addEventListener("step-changed", (event) => {
      event.stopPropagation();
      hooks.moved(side, (event as CustomEvent<StepChange>).detail.step);
    });
    this.element.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      event.stopPropagation();
      void this.run(this.written);
    });
  }

  /** The step this side is at. */
  get step(): number {
    return this.player.step;
  }

  /** Shows the recorded trace of the program where it is one of ours, else runs it. */
  async open(program: Program): Promise<void> {
    const src = recordedTraceOf(program);
    this.program = program;
    try {
      const response = src === null ? null : await fetch(src);
      if (response?.ok !== true) throw new Error("not recorded");
      this.show((await response.json()) as Trace, program);
    } catch {
      await this.run(program);
    }
  }

  /** Runs the program; true when it gave a trace. */
  async run(program: Program): Promise<boolean> {
    this.notice.hide();
    this.program = program;
    if (!this.limits.run) {
      this.complain(new Problem("sandbox-unavailable", this.limits.reason ?? ""));
      return false;
    }
    return this.runs.run(program, {
      ran: ({ trace }) => this.show(trace, program),
      failed: (problem) => this.complain(problem),
      cancelled: () => undefined,
    });
  }

  /** Takes a trace that is there already. */
  show(trace: Trace, program: Program): void {
    this.trace = trace;
    this.program = { ...program, source: trace.source };
    this.editing.source = trace.source;
    this.menu.show(program.device, trace.environment);
    this.hooks.ran();
  }

  /** Shows the trace with marks where its lines are not those of the other side. */
  load(pair: Pair, step: number): void {
    if (this.trace === null) return;
    const editing = this.player.codeBody.hidden;
    this.player.load(this.trace, step);
    this.editing.open(editing && this.editing.source !== this.trace.source);
    this.mark(pair);
  }

  /** Shows the trace alone, while the other side has none. */
  loadAlone(): void {
    if (this.trace !== null) this.player.load(this.trace);
  }

  place(step: number): void {
    this.player.place(step);
  }

  /** Opens the editor. */
  edit(): void {
    this.editing.open(true);
    this.editing.focus(1);
  }

  /** Shows the same picture as the other side. */
  figure(name: string): void {
    const tab = this.element.querySelector<HTMLElement>(`.figure-tabs [data-figure="${name}"]`);
    if (tab?.getAttribute("aria-pressed") === "false") tab.click();
  }

  /** Opens a lens as the other side did, or closes the one that is open. */
  lens(name: string | null): void {
    const open = this.element.querySelector<HTMLElement>('[data-lens][aria-pressed="true"]');
    if ((open?.dataset["lens"] ?? null) === name) return;
    (name === null ? open : this.element.querySelector<HTMLElement>(`[data-lens="${name}"]`))?.click();
  }

  /** Opens or closes a line as the other side did. */
  openLine(line: number, on: boolean): void {
    const chevron = this.player.codeBody.querySelector<HTMLElement>(`.line[data-line="${line}"] > .chevron`);
    if (chevron?.getAttribute("aria-expanded") === String(!on)) chevron.click();
  }

  /** Ends what runs. */
  close(): void {
    this.runs.cancel();
  }

  private get written(): Program {
    return { ...this.program, source: this.editing.source };
  }

  private async wantsSteps(): Promise<void> {
    if (this.editing.source !== this.trace?.source) await this.run(this.written);
    else this.editing.open(false);
  }

  private complain(problem: Problem): void {
    this.notice.show(problem, () => void this.run(this.written));
  }

  private wait(going: Going | null): void {
    this.waiting.hidden = going === null;
    this.element.setAttribute("aria-busy", String(going !== null));
    if (going === null) return;
    const { seconds, steps, line } = going;
    const cancel = el("button", { type: "button", class: "small-button" }, this.messages.text("ui.run.cancel"));
    cancel.addEventListener("click", () => this.runs.cancel());
    const words = this.messages.text("ui.run.running", { seconds, steps, line: line ?? 0 });
    if (going.cancellable && this.waiting.querySelector("button") !== null) this.waiting.firstChild?.replaceWith(words);
    else this.waiting.replaceChildren(words, ...(going.cancellable ? [" ", cancel] : []));
  }

  /** Lines that the other side does not have, or has otherwise; gaps where only the other side has lines. */
  private mark(pair: Pair): void {
    const list = this.player.codeBody.querySelector("ol");
    const rows = new Map(Array.from(list?.querySelectorAll<HTMLElement>(":scope > .line[data-line]") ?? [], (row) => [Number(row.dataset["line"]), row]));
    const last = [...rows.values()].at(-1) ?? null;
    let gaps: HTMLElement[] = [];
    for (const line of pair.lines) {
      const number = line[this.side];
      if (number === null) {
        gaps.push(el("li", { class: "line-gap", "aria-hidden": "true" }));
        continue;
      }
      const row = rows.get(number);
      if (row === undefined) continue;
      row.before(...gaps);
      gaps = [];
      if (line.same) continue;
      const kind = line.left === null || line.right === null ? "alone" : "changed";
      row.classList.add(`line-${kind}`);
      row.append(el("span", { class: "visually-hidden" }, ` (${this.messages.text(`ui.compare.line-${kind}`)})`));
    }
    last?.after(...gaps);
  }
}
