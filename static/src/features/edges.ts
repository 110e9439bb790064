/**
 * Where lit code is when it is out of sight: a mark at the edge of the program's window that leads there.
 *
 * Pointing never scrolls by itself. The marks stand over the window, so that nothing moves.
 */
import type { Extra, Feature, Stage } from "../stage";
import { el } from "../views/dom";

/** Pixels kept above a line that is scrolled to. */
const ABOVE = 56;
const MOST_NAMED = 3;

export const EDGES: Feature = (stage) => (stage.showsCode ? new Edges(stage) : null);

class Edges implements Extra {
  private readonly above = this.mark("above");
  private readonly below = this.mark("below");
  private readonly body: HTMLElement;
  private rows: readonly HTMLElement[] = [];

  constructor(private readonly stage: Stage) {
    this.body = stage.player.codeBody;
    for (const old of this.body.parentElement?.querySelectorAll(":scope > .code-edge") ?? []) old.remove();
    this.body.before(el("div", { class: "code-edge code-edge-above" }, this.above));
    this.body.after(el("div", { class: "code-edge code-edge-below" }, this.below));
    this.body.addEventListener("scroll", () => this.place(), { passive: true });
    stage.root.addEventListener("point-at", () => requestAnimationFrame(() => this.settle()));
  }

  show(): void {
    // What is lit is known once all views and features have shown it.
  }

  settle(): void {
    const lit = [...this.body.querySelectorAll(".pointed")].map((each) => each.closest<HTMLElement>(".line"));
    const rows = [...new Set(lit)].filter((row) => row !== null);
    if (rows.length === 0 && this.rows.length === 0) return;
    this.rows = rows;
    this.place();
  }

  private place(): void {
    if (this.rows.length === 0 || !this.body.isConnected) {
      this.above.hidden = this.below.hidden = true;
      return;
    }
    const { top, bottom } = this.body.getBoundingClientRect();
    const boxes = this.rows.map((row) => ({ row, box: row.getBoundingClientRect() }));
    this.say(this.above, "above", boxes.filter(({ box }) => box.bottom - 8 < top).map(({ row }) => row));
    this.say(this.below, "below", boxes.filter(({ box }) => box.top + 8 > bottom).map(({ row }) => row));
  }

  private mark(way: "above" | "below"): HTMLButtonElement {
    const button = el("button", { type: "button", hidden: true });
    button.addEventListener("click", () => {
      const line = Number(button.dataset["line"]);
      const row = this.rows.find((each) => Number(each.dataset["line"]) === line);
      if (row === undefined) return;
      const at = row.getBoundingClientRect().top - this.body.getBoundingClientRect().top;
      this.body.scrollTop += way === "above" ? at - ABOVE : at + row.offsetHeight - this.body.clientHeight + ABOVE;
      if (button.hidden) this.body.focus({ preventScroll: true });
    });
    return button;
  }

  /** Leads to the nearest. */
  private say(button: HTMLButtonElement, way: "above" | "below", rows: readonly HTMLElement[]): void {
    button.hidden = rows.length === 0;
    if (rows.length === 0) return;
    const lines = rows.map((row) => row.dataset["line"] ?? "");
    button.dataset["line"] = (way === "above" ? lines.at(-1) : lines[0]) ?? "";
    const named = lines.length > MOST_NAMED ? [...lines.slice(0, MOST_NAMED), "…"] : lines;
    const say = this.stage.messages.text;
    button.textContent = `${way === "above" ? "↑" : "↓"} ${say("ui.edges.lines", { lines: named })}`;
    button.title = say("ui.edges.go", { line: button.dataset["line"] });
  }
}
