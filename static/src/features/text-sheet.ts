/**
 * The sheet with the whole run as a table: to read, to search, to go to a step, to copy or keep.
 *
 * A page of the table holds a hundred steps, so that a run of thousands opens at once.
 */
import { LAYERS, type Layer } from "../model/state";
import type { Sentence } from "../schema/trace.gen";
import type { Stage } from "../stage";
import { el } from "../views/dom";
import { layerIcon } from "../views/icons";
import { sentences as inTurn } from "../views/sentence";
import { openSheet } from "../views/sheet";
import { EXTENSIONS, FORMATS, kept, rowsOf, written, type Format, type Row } from "./text-rows";

const PAGE = 100;

/** Opens the sheet at the step that is shown. */
export function openText(stage: Stage): void {
  new TextSheet(stage).open();
}

class TextSheet {
  private readonly rows: readonly Row[];
  /** There is a column for what was printed. */
  private readonly prints: boolean;
  private shown: readonly Row[];
  private page = 0;
  private readonly layers = new Set<Layer>();
  private readonly search = el("input", { type: "search", id: "text-search", class: "field" });
  private readonly lines = el("select", { id: "text-line", class: "field" });
  private readonly format = el("select", { id: "text-format", class: "field" });
  private readonly status = el("p", { class: "text-status", role: "status" });
  private readonly body = el("tbody", { role: "rowgroup" });
  private readonly table = el("table", { class: "text-table", role: "table" });
  private readonly scroll = el("div", { class: "text-scroll", tabindex: 0, role: "region" }, this.table);
  private readonly back: HTMLButtonElement;
  private readonly on: HTMLButtonElement;
  private dialog: HTMLDialogElement | null = null;

  constructor(private readonly stage: Stage) {
    this.rows = rowsOf(stage.trace, stage.outline, stage.messages);
    this.shown = this.rows;
    this.prints = this.rows.some(({ output }) => output !== "");
    this.back = this.button("ui.text.previous", () => this.turn(-1));
    this.on = this.button("ui.text.next", () => this.turn(1));
  }

  private readonly say = (id: string, args: Record<string, unknown> = {}): string => this.stage.messages.text(id, args);

  open(): void {
    const title = this.say("ui.text.title");
    this.scroll.setAttribute("aria-label", title);
    this.table.append(this.head(), this.body);
    this.page = Math.floor(Math.max(0, this.stage.player.step - 1) / PAGE);
    this.dialog = openSheet(this.stage.messages, title, true, this.filters(), this.scroll, this.footer());
    this.dialog.classList.add("text-sheet");
    this.search.focus();
    this.paint();
    this.body.querySelector("[aria-current]")?.scrollIntoView({ block: "center" });
  }

  private button(id: string, act: () => void): HTMLButtonElement {
    const button = el("button", { type: "button", class: "button" }, this.say(id));
    button.addEventListener("click", act);
    return button;
  }

  private filters(): HTMLElement {
    const layers = LAYERS.map((layer) => {
      const button = el("button", { type: "button", class: "small-button text-layer", "aria-pressed": "false" });
      button.append(layerIcon(layer), this.say(`ui.layer.${layer}`));
      button.addEventListener("click", () => {
        const on = !this.layers.delete(layer);
        if (on) this.layers.add(layer);
        button.setAttribute("aria-pressed", String(on));
        this.filter();
      });
      return button;
    });
    this.lines.append(el("option", { value: "" }, this.say("ui.text.allLines")));
    for (const line of [...this.stage.outline.stepsOfLine.keys()].sort((a, b) => a - b)) {
      const text = (this.stage.outline.lines[line - 1] ?? "").trim();
      this.lines.append(el("option", { value: line }, `${line}  ${text.slice(0, 48)}`));
    }
    this.lines.addEventListener("change", () => this.filter());
    this.search.addEventListener("input", () => this.filter());
    return el(
      "div",
      { class: "sheet-bar", role: "search" },
      el("label", { class: "sheet-field", for: "text-search" }, el("span", {}, this.say("ui.text.search")), this.search),
      el("label", { class: "sheet-field", for: "text-line" }, el("span", {}, this.say("ui.text.line")), this.lines),
      el("div", { class: "sheet-field", role: "group", "aria-label": this.say("ui.text.layers") }, el("span", { "aria-hidden": "true" }, this.say("ui.text.layers")), el("div", { class: "text-layers" }, ...layers)),
    );
  }

  private footer(): HTMLElement {
    for (const format of FORMATS) this.format.append(el("option", { value: format }, this.say(`ui.text.${format}`)));
    const copy = this.button("ui.share.copy", () => void this.copy(copy));
    const keep = this.button("ui.text.download", () => this.download());
    return el(
      "footer",
      { class: "sheet-bar sheet-footer" },
      this.back,
      this.on,
      this.status,
      el("span", { class: "space" }),
      el("label", { class: "visually-hidden", for: "text-format" }, this.say("ui.text.format")),
      this.format,
      copy,
      keep,
    );
  }

  private filter(): void {
    const line = this.lines.value === "" ? null : Number(this.lines.value);
    this.shown = kept(this.rows, { layers: this.layers, line, text: this.search.value });
    this.page = 0;
    this.paint();
    this.scroll.scrollTop = 0;
  }

  private turn(by: number): void {
    const button = by < 0 ? this.back : this.on;
    if (button.getAttribute("aria-disabled") === "true") return;
    this.page += by;
    this.paint();
    this.scroll.scrollTop = 0;
  }

  private paint(): void {
    const first = this.page * PAGE;
    const rows = this.shown.slice(first, first + PAGE);
    this.table.setAttribute("aria-rowcount", String(this.shown.length + 1));
    this.body.replaceChildren(...rows.map((row, i) => this.row(row, first + i + 2)));
    const numbers = { first: first + 1, last: first + rows.length, count: this.shown.length, all: this.rows.length };
    this.status.textContent = this.say(rows.length === 0 ? "ui.text.nothing" : "ui.text.shown", numbers);
    this.back.setAttribute("aria-disabled", String(first === 0));
    this.on.setAttribute("aria-disabled", String(first + PAGE >= this.shown.length));
    const several = this.rows.length > PAGE;
    this.back.hidden = !several;
    this.on.hidden = !several;
  }

  private head(): HTMLElement {
    const column = (name: string, ...icon: Element[]): HTMLElement => el("th", { scope: "col", role: "columnheader" }, ...icon, name);
    const layers = LAYERS.map((layer) => column(this.say(`ui.layer.${layer}`), layerIcon(layer)));
    const names = ["step", "line", "code"].map((id) => column(this.say(`ui.text.${id}`)));
    const row = el("tr", { role: "row", "aria-rowindex": 1 }, ...names, ...layers);
    if (this.prints) row.append(column(this.say("ui.changes.output")));
    return el("thead", { role: "rowgroup" }, row);
  }

  private row(row: Row, index: number): HTMLElement {
    const { step, told } = row;
    const current = step.number === this.stage.player.step;
    const go = el("button", { type: "button", class: "small-button", title: this.say("ui.text.go") }, String(step.number));
    go.setAttribute("aria-label", this.say("ui.step.number", { step: step.number }));
    go.addEventListener("click", () => {
      this.dialog?.close();
      this.stage.player.go(step.number);
    });
    const code = el("td", { class: "text-code", role: "cell" }, el("code", {}, step.text), ...this.passes(row));
    const remark = (kind: string, sentences: readonly Sentence[]): void => {
      if (sentences.length === 0) return;
      const name = el("strong", {}, this.say(`ui.changes.${kind}`));
      code.append(el("p", { class: `text-remark remark-${kind}` }, name, " ", ...this.words(sentences)));
    };
    remark("error", told.error);
    remark("compiled", told.compiled);
    remark("names", told.names);
    remark("note", told.notes);
    const layers = told.layers.map(({ layer, sentences }, i) => {
      const on = step.lamps.includes(layer);
      const words = sentences.length > 0 ? this.words(sentences) : [row.layers[i] ?? ""];
      return el("td", { class: on ? "text-cell on" : "text-cell", role: "cell", "data-name": this.say(`ui.layer.${layer}`) }, on ? layerIcon(layer) : null, ...words);
    });
    const output = el("td", { class: "text-output", role: "cell" }, row.output === "" ? null : el("pre", {}, row.output.trimEnd()));
    return el(
      "tr",
      { role: "row", "aria-rowindex": index, "aria-current": current ? "step" : null },
      el("th", { scope: "row", role: "rowheader" }, go),
      el("td", { class: "text-line", role: "cell", "data-name": this.say("ui.text.line") }, String(step.line)),
      code,
      ...layers,
      this.prints ? output : null,
    );
  }

  private passes({ step }: Row): HTMLElement[] {
    const words = step.iterations !== null ? this.say("ui.step.iterations", { ...step.iterations })
      : step.executions > 1 ? this.say("ui.step.folded", { count: step.executions })
      : step.again !== null ? this.say(`ui.step.${step.again}`)
      : step.pass > 1 ? this.say("ui.step.pass", { pass: step.pass }) : "";
    return words === "" ? [] : [el("span", { class: "pass" }, words)];
  }

  private words(sentences: readonly Sentence[]): (Text | HTMLElement)[] {
    return inTurn(this.stage.messages, sentences);
  }

  private written(): string {
    return written(this.shown, this.format.value as Format, this.stage.messages);
  }

  private async copy(button: HTMLButtonElement): Promise<void> {
    try {
      await navigator.clipboard.writeText(this.written());
      button.textContent = this.say("ui.share.copied");
    } catch {
      this.download();
    }
  }

  private download(): void {
    const format = this.format.value as Format;
    const type = format === "csv" ? "text/csv" : format === "markdown" ? "text/markdown" : "text/plain";
    const url = URL.createObjectURL(new Blob([this.written()], { type: `${type};charset=utf-8` }));
    el("a", { href: url, download: `tensor-anatomy.${EXTENSIONS[format]}` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  }
}
