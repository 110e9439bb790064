/**
 * What the current step did, on a page: its rows of changes, and beside them, on tabs, the ops it ran and
 * what the program printed. The rows themselves are in `changes.ts`.
 */
import type { Messages } from "../model/messages";
import { pieceOf, type Outline, type StepOutline } from "../model/outline";
import type { ApiNow, OpNow, State } from "../model/state";
import type { SourceRange, Trace } from "../schema/trace.gen";
import { Changes } from "./changes";
import { el, renew, set, write } from "./dom";
import { pointAt, showWay, type View } from "./view";
import { waysFrom } from "./ways";

const TABS = ["changed", "ops", "output"] as const;
type Tab = (typeof TABS)[number];
const OPS_SHOWN = 200;
/** Ops inside a library that are shown at once. */
const OPS_OPEN = 8;

export class TabsView implements View {
  private trace: Trace | null = null;
  private changes: Changes | null = null;
  private state: State | null = null;
  private tab: Tab = "changed";
  /** Another step or tab is shown than before. */
  private turned = false;
  /** Kept, because asking while views are changing would make the browser lay out the page. */
  private scrolled = false;
  private readonly title = el("h2", { class: "changes-title" });
  private readonly body = el("div", { class: "changes-body", role: "tabpanel", tabindex: 0 });
  private readonly tabs = new Map<Tab, HTMLButtonElement>();

  constructor(
    private readonly outline: Outline,
    private readonly messages: Messages,
  ) {}

  mount(root: HTMLElement, trace: Trace): void {
    this.trace = trace;
    this.changes = new Changes(trace, this.outline, this.messages, false);
    const list = el("div", { class: "tabs", role: "tablist" });
    for (const tab of TABS) {
      const button = el("button", { type: "button", role: "tab", "data-tab": tab });
      button.addEventListener("click", () => this.choose(tab));
      this.tabs.set(tab, button);
      list.append(button);
    }
    list.addEventListener("keydown", (event) => this.moveTab(event));
    this.body.addEventListener("scroll", () => (this.scrolled = this.body.scrollTop > 0), { passive: true });
    root.replaceChildren(el("header", {}, this.title, list), this.body, this.changes.live);
  }

  show(state: State): void {
    this.turned ||= state.step !== this.state?.step;
    this.state = state;
    renew(this.title, ...this.heading(this.outline.steps[state.step - 1]));
    for (const [tab, button] of this.tabs) {
      const count = tab === "ops" ? state.ops.length + state.apiCalls.length : 0;
      write(button, this.messages.text(`ui.changes.${tab}`, { count }));
      set(button, "aria-selected", String(tab === this.tab));
      set(button, "tabindex", tab === this.tab ? "0" : "-1");
    }
    const content = this.content(state);
    const old = this.body.firstElementChild;
    const plain = old?.className === "changes" && content.className === "changes" && content.querySelector("button") === null;
    // Of rows of changes those that say the same stay.
    if (plain) renew(old, ...content.children);
    else this.body.replaceChildren(content);
    this.changes?.speak(state.step);
  }

  /** What is new is read from its beginning. */
  settle(): void {
    if (this.turned && this.scrolled) this.body.scrollTop = 0;
    this.turned = false;
  }

  private content(state: State): HTMLElement {
    if (this.tab === "ops") return this.opsList(state);
    if (this.tab === "output") return this.output(state);
    return this.changed(state.step);
  }

  private changed(step: number): HTMLElement {
    const list = this.changes?.list(step) ?? el("ul");
    const ways = this.trace === null ? [] : waysFrom(step, this.trace, this.outline, this.messages);
    if (ways.length > 0) list.querySelector(".remark-error")?.append(el("p", { class: "outcome-links" }, ...ways));
    return list;
  }

  private heading(step: StepOutline | undefined): (string | Element)[] {
    if (step === undefined) return [this.messages.text("ui.step.before")];
    const words: (string | Element)[] = [
      this.messages.text("ui.step.number", { step: step.number }),
      " ",
      el("code", { title: step.text }, step.text),
    ];
    if (step.iterations !== null) {
      words.push(el("span", { class: "pass" }, this.messages.text("ui.step.iterations", { ...step.iterations })));
    } else if (step.executions > 1) {
      const folded = this.messages.text("ui.step.folded", { count: step.executions });
      words.push(el("span", { class: "pass", title: folded }, this.messages.text("ui.step.times", { count: step.executions })));
    } else if (step.again !== null) {
      words.push(el("span", { class: "pass" }, this.messages.text(`ui.step.${step.again}`)));
    } else if ((this.outline.stepsOfLine.get(step.line)?.length ?? 0) > 1) {
      words.push(el("span", { class: "pass" }, this.messages.text("ui.step.pass", { pass: step.pass })));
    }
    return words;
  }

  private opsList(state: State): HTMLElement {
    const rows = [...this.opRows(state), ...state.apiCalls.map((call) => this.apiCall(call))];
    if (rows.length === 0) return el("p", { class: "empty" }, this.messages.text("ui.ops.none"));
    const list = el("ul", { class: "ops" }, ...rows.slice(0, OPS_SHOWN));
    if (rows.length > OPS_SHOWN) {
      list.append(el("li", { class: "empty" }, this.messages.text("ui.ops.more", { count: rows.length - OPS_SHOWN })));
    }
    return list;
  }

  /** A row per op; those that a library ran stand under its name, folded when they are many. */
  private opRows(state: State): HTMLElement[] {
    const rows: HTMLElement[] = [];
    for (let from = 0, to = 0; from < state.ops.length; from = to) {
      const inside = state.ops[from]?.inside ?? null;
      while (to < state.ops.length && (state.ops[to]?.inside ?? null) === inside) to += 1;
      const group = state.ops.slice(from, to);
      const shown = group.slice(0, OPS_SHOWN).map((op) => this.op(op, state));
      if (inside === null) rows.push(...shown);
      else rows.push(this.library(inside, group.length, shown));
    }
    return rows;
  }

  private library(name: string, count: number, rows: readonly HTMLElement[]): HTMLElement {
    const title = this.messages.text("ui.ops.inside", { count, module: name });
    const details = el("details", { class: "ops-inside" }, el("summary", {}, title), el("ul", { class: "ops" }, ...rows));
    details.open = count <= OPS_OPEN;
    return el("li", { class: "op-library" }, details);
  }

  private op(op: OpNow, state: State): HTMLElement {
    const verdicts = [...new Set(op.failed ? ["failed"] : op.verdicts)];
    const outputs = op.outputs.map((id) => state.tensors.get(id)?.names[0]).filter((name) => name !== undefined);
    const under = op.node ?? op.api;
    const row = el(
      "li",
      { class: "op", tabindex: 0 },
      el("code", { class: "op-name" }, op.op),
      el("span", { class: "op-verdicts" }, ...verdicts.map((verdict) => this.verdict(verdict)), this.way(op, state)),
      el(
        "span",
        { class: "op-from" },
        ...(op.range === null ? [] : [el("code", {}, this.textOf(op.range))]),
        ...(under === null ? [] : [this.messages.text(op.node === null ? "ui.ops.api" : "ui.ops.node", { name: under })]),
        ...(outputs.length === 0 ? [] : [el("span", { class: "op-outputs" }, `→ ${outputs.join(", ")}`)]),
      ),
    );
    return this.pointing(row, op.range);
  }

  /** Asks for the op's way through the dispatcher. */
  private way(op: OpNow, state: State): HTMLElement | null {
    if (op.route === null) return null;
    const name = this.messages.text("ui.ops.way", { op: op.op });
    const button = el("button", { type: "button", class: "op-way", title: name, "aria-label": name, "aria-haspopup": "dialog" }, "⋯");
    button.addEventListener("click", () => showWay(button, state.ops.indexOf(op)));
    return button;
  }

  private apiCall(call: ApiNow): HTMLElement {
    const row = el(
      "li",
      { class: "op", tabindex: 0 },
      el("code", { class: "op-name" }, call.api),
      el("span", { class: "op-verdicts" }, this.verdict(call.returnedInput ? "returned-input" : "no-op")),
      el("span", { class: "op-from" }, ...(call.range === null ? [] : [el("code", {}, this.textOf(call.range))])),
    );
    return this.pointing(row, call.range);
  }

  private verdict(verdict: string): HTMLElement {
    return el("span", { class: `verdict verdict-${verdict}` }, this.messages.text(`ui.verdict.${verdict}`));
  }

  private pointing(row: HTMLElement, range: SourceRange | null): HTMLElement {
    for (const name of ["pointerenter", "focus"]) row.addEventListener(name, () => pointAt(row, range));
    for (const name of ["pointerleave", "blur"]) row.addEventListener(name, () => pointAt(row, null));
    return row;
  }

  private output(state: State): HTMLElement {
    if (state.stdout === "") return el("p", { class: "empty" }, this.messages.text("ui.output.none"));
    return el("pre", { class: "output" }, state.stdout);
  }

  private textOf(range: SourceRange): string {
    const line = this.outline.lines[range.line - 1] ?? "";
    if (range.end_line === range.line) return pieceOf(line, range.column, range.end_column);
    return `${pieceOf(line, range.column, Infinity).trimEnd()} …`;
  }

  private choose(tab: Tab): void {
    this.turned = true;
    this.tab = tab;
    if (this.state !== null) this.show(this.state);
    this.settle();
  }

  private moveTab(event: KeyboardEvent): void {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    const way = event.key === "ArrowRight" ? 1 : TABS.length - 1;
    const tab = TABS[(TABS.indexOf(this.tab) + way) % TABS.length] ?? "changed";
    this.choose(tab);
    this.tabs.get(tab)?.focus();
    event.preventDefault();
  }
}
