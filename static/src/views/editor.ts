/** A plain text area with line numbers. Return keeps the indentation; Tab moves on, as everywhere. */
import { linesOf } from "../model/outline";
import { el } from "./dom";

export class Editor {
  readonly element: HTMLElement;
  private readonly area: HTMLTextAreaElement;
  private readonly gutter = el("div", { class: "editor-gutter", "aria-hidden": "true" });
  private shown = 0;

  constructor(label: string, onEdit: () => void) {
    this.area = el("textarea", {
      class: "editor-text",
      "aria-label": label,
      spellcheck: "false",
      autocapitalize: "off",
      autocomplete: "off",
      wrap: "off",
    });
    this.element = el("div", { class: "editor" }, this.gutter, this.area);
    this.area.addEventListener("input", () => {
      this.number();
      onEdit();
    });
    this.area.addEventListener("scroll", () => (this.gutter.scrollTop = this.area.scrollTop));
    this.area.addEventListener("keydown", (event) => this.indent(event));
  }

  get source(): string {
    return this.area.value;
  }

  set source(text: string) {
    this.area.value = text;
    this.area.setSelectionRange(0, 0);
    this.number();
  }

  /** Puts the caret at the start of a line. */
  focus(line: number): void {
    const before = linesOf(this.area.value).slice(0, Math.max(0, line - 1));
    const at = before.reduce((length, text) => length + text.length + 1, 0);
    this.area.focus({ preventScroll: true });
    this.area.setSelectionRange(at, at);
  }

  private number(): void {
    const count = linesOf(this.area.value).length;
    if (count === this.shown) return;
    this.shown = count;
    this.gutter.textContent = Array.from({ length: count }, (_, i) => i + 1).join("\n");
  }

  private indent(event: KeyboardEvent): void {
    if (event.key !== "Enter" || event.ctrlKey || event.metaKey || event.isComposing) return;
    const before = this.area.value.slice(0, this.area.selectionStart);
    const line = before.slice(before.lastIndexOf("\n") + 1);
    const indent = (/^[ \t]*/.exec(line)?.[0] ?? "") + (/:\s*(#.*)?$/.test(line) ? "    " : "");
    if (indent === "") return;
    event.preventDefault();
    // The one way that keeps the browser's own undo.
    if (document.execCommand("insertText", false, `\n${indent}`)) return;
    this.area.setRangeText(`\n${indent}`, this.area.selectionStart, this.area.selectionEnd, "end");
    this.area.dispatchEvent(new Event("input", { bubbles: true }));
  }
}
