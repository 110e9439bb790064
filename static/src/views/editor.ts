/**
 * Where a program is written: a plain text area at first, a code editor once that has loaded.
 *
 * The code editor (`code-editor.ts`) is asked for when the reader first comes here, and takes over text, caret
 * and focus. Where it does not load, the text area stays: Return keeps the indentation, Tab moves on.
 */
import { linesOf } from "../model/outline";
import { indexOfColumn } from "../model/python";
import type { SourceRange } from "../schema/trace.gen";
import { el } from "./dom";

/** A piece of a text, from an index to another; empty where the caret stands. */
export interface Piece {
  readonly from: number;
  readonly to: number;
}

/** Something that holds text to edit. Places are indices into the text. */
export interface Surface {
  readonly element: HTMLElement;
  source: string;
  selection: Piece;
  readonly focused: boolean;
  focus(): void;
  /** Underlines a piece, with words for the pointer; null takes the line away. */
  fault(piece: Piece | null, words: string): void;
}

export interface SurfaceHooks {
  readonly label: string;
  /** How the keyboard leaves. */
  readonly keys: string;
  edited(): void;
}

export interface EditorWords {
  readonly label: string;
  /** How the keyboard leaves, and what runs the program. */
  readonly keys: string;
}

export class Editor {
  readonly element: HTMLElement;
  private surface: Surface;
  private readonly plain: PlainSurface;
  private readonly hooks: SurfaceHooks;
  private readonly keys: HTMLElement;
  private readonly trouble = el("p", { class: "editor-fault", role: "status" });
  private readonly frame: HTMLElement;
  private asked = false;
  private piece: SourceRange | null = null;

  constructor(
    words: EditorWords,
    private readonly onEdit: () => void,
  ) {
    this.keys = el("p", { class: "editor-keys", hidden: true }, words.keys);
    this.hooks = { ...words, edited: () => this.edited() };
    this.plain = new PlainSurface(this.hooks);
    this.surface = this.plain;
    this.frame = el("div", { class: "editor" }, this.plain.element);
    this.element = el("div", { class: "editor-place" }, this.frame, el("div", { class: "editor-foot" }, this.trouble, this.keys));
  }

  get source(): string {
    return this.surface.source;
  }

  set source(text: string) {
    this.surface.source = text;
    this.fault(null, "");
  }

  /** Puts the caret at the start of a line. */
  focus(line: number): void {
    const before = linesOf(this.source).slice(0, Math.max(0, line - 1));
    const at = before.reduce((length, text) => length + text.length + 1, 0);
    this.surface.selection = { from: at, to: at };
    this.surface.focus();
  }

  /** Marks the piece of the program that failed, and says why; it stays until the program is edited there. */
  fault(range: SourceRange | null, words: string): void {
    this.piece = range;
    this.trouble.textContent = words;
    this.surface.fault(range === null ? null : this.indices(range), words);
  }

  /** Loads the code editor, the first time. */
  upgrade(): void {
    if (this.asked) return;
    this.asked = true;
    void import("./code-editor").then(
      ({ CodeSurface }) => this.plain.whenComposed(() => this.take(new CodeSurface(this.hooks, this.source))),
      () => (this.asked = false), // asked again with the next opening; the text area does
    );
  }

  private take(surface: Surface): void {
    const { focused } = this.surface;
    surface.source = this.surface.source;
    surface.selection = this.surface.selection;
    this.frame.replaceChildren(surface.element);
    this.frame.classList.add("editor-code");
    this.keys.hidden = false;
    this.surface = surface;
    if (this.piece !== null) this.fault(this.piece, this.trouble.textContent);
    if (focused) surface.focus();
  }

  private edited(): void {
    this.trouble.textContent = "";
    this.piece = null;
    this.onEdit();
  }

  private indices(range: SourceRange): Piece {
    const lines = linesOf(this.source);
    const at = (line: number, column: number): number => {
      const before = lines.slice(0, line - 1).reduce((length, text) => length + text.length + 1, 0);
      return before + indexOfColumn(lines[line - 1] ?? "", column);
    };
    const [from, to] = [at(range.line, range.column), at(range.end_line, range.end_column)];
    const end = Math.min(this.source.length, Math.max(to, from + 1));
    return { from: Math.min(from, Math.max(0, end - 1)), to: end };
  }
}

/** A text area with line numbers. */
class PlainSurface implements Surface {
  readonly element: HTMLElement;
  private readonly area: HTMLTextAreaElement;
  private readonly gutter = el("div", { class: "editor-gutter", "aria-hidden": "true" });
  private shown = 0;
  private composing = false;

  constructor(hooks: SurfaceHooks) {
    this.area = el("textarea", {
      class: "editor-text",
      "aria-label": hooks.label,
      spellcheck: "false",
      autocapitalize: "off",
      autocomplete: "off",
      wrap: "off",
    });
    this.element = el("div", { class: "editor-plain" }, this.gutter, this.area);
    this.area.addEventListener("input", () => {
      this.number();
      hooks.edited();
    });
    this.area.addEventListener("scroll", () => (this.gutter.scrollTop = this.area.scrollTop));
    this.area.addEventListener("keydown", (event) => this.indent(event));
    this.area.addEventListener("compositionstart", () => (this.composing = true));
    this.area.addEventListener("compositionend", () => (this.composing = false));
  }

  get source(): string {
    return this.area.value;
  }

  set source(text: string) {
    this.area.value = text;
    this.area.setSelectionRange(0, 0);
    this.number();
  }

  get selection(): Piece {
    return { from: this.area.selectionStart, to: this.area.selectionEnd };
  }

  set selection({ from, to }: Piece) {
    this.area.setSelectionRange(from, to);
  }

  get focused(): boolean {
    return document.activeElement === this.area;
  }

  focus(): void {
    this.area.focus({ preventScroll: true });
  }

  fault(): void {
    // A text area cannot underline; what is wrong is said below it.
  }

  /** Once no character is being put together: taking the field away would lose it. */
  whenComposed(then: () => void): void {
    if (!this.composing) then();
    else this.area.addEventListener("compositionend", () => setTimeout(then), { once: true });
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
