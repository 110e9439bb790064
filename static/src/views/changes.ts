/**
 * What the current step changed: one row per layer, "no change" included, and what was noticed there.
 * Beside it, on tabs, the ops the step ran and what the program printed.
 *
 * The rows are also the message of a live region, so that stepping can be heard.
 */
import type { Messages } from "../model/messages";
import { pieceOf, type Outline, type StepOutline } from "../model/outline";
import { LAYERS, type ApiNow, type Layer, type OpNow, type State } from "../model/state";
import type { Sentence, SourceRange, Trace } from "../schema/trace.gen";
import { el } from "./dom";
import { layerIcon } from "./icons";
import { sentence } from "./sentence";
import type { View } from "./view";

/** Asks the player to mark a piece of the program; null takes the mark away. */
export function pointAt(from: EventTarget, range: SourceRange | null): void {
  from.dispatchEvent(new CustomEvent<SourceRange | null>("point-at", { detail: range, bubbles: true }));
}

const TABS = ["changed", "ops", "output"] as const;
type Tab = (typeof TABS)[number];
const OPS_SHOWN = 200;
/** Ops inside a library that are shown at once. */
const OPS_OPEN = 8;

export class ChangesView implements View {
  private trace: Trace | null = null;
  private state: State | null = null;
  private tab: Tab = "changed";
  private readonly title = el("h2", { class: "changes-title" });
  private readonly body = el("div", { class: "changes-body" });
  private readonly live = el("p", { class: "visually-hidden", "aria-live": "polite", role: "status" });
  private readonly tabs = new Map<Tab, HTMLButtonElement>();

  constructor(
    private readonly outline: Outline,
    private readonly messages: Messages,
    /** Without tabs, and only the layers that changed: for small places. */
    private readonly brief: boolean,
  ) {}

  mount(root: HTMLElement, trace: Trace): void {
    this.trace = trace;
    this.body.tabIndex = 0;
    if (this.brief) {
      root.replaceChildren(this.body, this.live);
      return;
    }
    const list = el("div", { class: "tabs", role: "tablist" });
    for (const tab of TABS) {
      const button = el("button", { type: "button", role: "tab", "data-tab": tab });
      button.addEventListener("click", () => this.choose(tab));
      this.tabs.set(tab, button);
      list.append(button);
    }
    list.addEventListener("keydown", (event) => this.moveTab(event));
    this.body.setAttribute("role", "tabpanel");
    root.replaceChildren(el("header", {}, this.title, list), this.body, this.live);
  }

  show(state: State): void {
    this.state = state;
    const step = this.outline.steps[state.step - 1];
    this.title.replaceChildren(...this.heading(step));
    for (const [tab, button] of this.tabs) {
      const count = tab === "ops" ? state.ops.length + state.apiCalls.length : 0;
      button.textContent = this.messages.text(`ui.changes.${tab}`, { count });
      button.setAttribute("aria-selected", String(tab === this.tab));
      button.tabIndex = tab === this.tab ? 0 : -1;
    }
    this.paint();
    const said = this.rows(state.step).flatMap(({ layer, sentences }) => {
      const words = sentences.map((each) => this.messages.text(each.id, each.args));
      return `${this.messages.text(`ui.layer.${layer}`)}: ${words.join(" ")}`;
    });
    const place = this.messages.text("ui.step.of", { step: state.step, steps: this.outline.steps.length });
    const { error } = this.beside(state.step);
    const why = error.map((each) => this.messages.text(each.id, each.args));
    const spoken = [place, step?.text ?? "", ...why, ...said].join(". ");
    if (this.live.textContent !== spoken) this.live.textContent = spoken;
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

  private said(step: number): readonly Sentence[] {
    const numbers = (step === 0 ? undefined : this.trace?.said[step - 1]) ?? [];
    return numbers.flatMap((number) => this.trace?.sentences[number] ?? []);
  }

  private rows(step: number): { layer: Layer; sentences: readonly Sentence[] }[] {
    const sentences = this.said(step);
    return LAYERS.map((layer) => ({ layer, sentences: sentences.filter((each) => each.layer === layer) }));
  }

  private paint(): void {
    const { state } = this;
    if (state === null) return;
    this.body.scrollTop = 0;
    if (this.tab === "ops") this.body.replaceChildren(this.opsList(state));
    else if (this.tab === "output") this.body.replaceChildren(this.output(state));
    else this.body.replaceChildren(this.changed(state.step));
  }

  private changed(step: number): HTMLElement {
    const lit = this.outline.steps[step - 1]?.lamps ?? [];
    const list = el("ul", { class: "changes" });
    for (const { layer, sentences } of this.rows(step)) {
      const on = lit.includes(layer);
      if (this.brief && !on) continue;
      const words = sentences.flatMap((each) => [el("span", {}, ...sentence(this.messages.parts(each.id, each.args))), " "]);
      const name = el("strong", { class: "change-layer" }, this.messages.text(`ui.layer.${layer}`));
      const said = words.length > 0 ? words : [this.messages.text("ui.changes.none")];
      const mark = on ? layerIcon(layer) : el("span", { class: "lamp-off" });
      list.append(el("li", { class: on ? "change" : "change unchanged" }, mark, name, el("p", {}, ...said)));
    }
    if (this.brief && list.children.length === 0) {
      const text = this.messages.text(step === 0 ? "ui.step.before" : "ui.changes.nothing");
      list.append(el("li", { class: "change unchanged" }, el("span", { class: "lamp-off" }), el("p", {}, text)));
    }
    const { error, names, notes } = this.beside(step);
    if (error.length > 0) list.prepend(this.remark("error", "✕", error));
    if (names.length > 0 && !this.brief) list.append(this.remark("names", "", names));
    for (const note of notes) list.append(this.remark("note", "!", [note]));
    return list;
  }

  /** What is said of a step beside its layers: why it failed, what its names did, what was noticed. */
  private beside(step: number): Record<"error" | "names" | "notes", readonly Sentence[]> {
    const here = this.outline.steps[step - 1];
    const last = here?.raised === true && step === this.outline.steps.length;
    return {
      error: last ? (this.trace?.explanation?.sentences ?? []) : [],
      names: this.said(step).filter((each) => each.layer === null),
      notes: (this.trace?.notes ?? []).filter((note) => note.line === here?.line).map((note) => note.sentence),
    };
  }

  private remark(kind: string, sign: string, sentences: readonly Sentence[]): HTMLElement {
    const name = el("strong", { class: "change-layer" }, this.messages.text(`ui.changes.${kind}`));
    const said = sentences.flatMap((each) => [...sentence(this.messages.parts(each.id, each.args)), " "]);
    const mark = el("span", { class: "remark-sign", "aria-hidden": "true" }, sign);
    return el("li", { class: `change remark remark-${kind}` }, mark, name, el("p", {}, ...said));
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
      el("span", { class: "op-verdicts" }, ...verdicts.map((verdict) => this.verdict(verdict))),
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
    this.tab = tab;
    if (this.state !== null) this.show(this.state);
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
