/**
 * A code editor for Python: CodeMirror 6, in a shadow root.
 *
 * Heavy, so it is only ever loaded by `import()` (`editor.ts`). The page's security policy forbids the style
 * elements that CodeMirror makes in a document; in a shadow root it uses constructed sheets. Colours are the
 * page's own, through its variables, so that both themes hold.
 */
import { defaultKeymap, history, historyKeymap, indentLess, insertNewlineAndIndent } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState, StateEffect, StateField, type Extension } from "@codemirror/state";
import { Decoration, EditorView, highlightActiveLine, keymap, lineNumbers, type Command, type DecorationSet, type KeyBinding } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { el } from "./dom";
import type { Piece, Surface, SurfaceHooks } from "./editor";

interface Fault extends Piece {
  readonly words: string;
}

const INDENT = "    ";

const setFault = StateEffect.define<Fault | null>();

/** The underlined piece; it moves with the text around it and goes when it is edited itself. */
const faults = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(shown, transaction) {
    let now = shown.map(transaction.changes);
    transaction.changes.iterChangedRanges((from, to) => {
      now = now.update({ filter: (start, end) => to < start || from > end, filterFrom: 0 });
    });
    for (const effect of transaction.effects) {
      if (!effect.is(setFault)) continue;
      const { value } = effect;
      if (value === null) now = Decoration.none;
      else now = Decoration.set(Decoration.mark({ class: "cm-fault", attributes: { title: value.words } }).range(value.from, value.to));
    }
    return now;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** Four spaces to the next stop, or all lines of a selection; Escape, then Tab leaves (CodeMirror sees to that). */
const indent: Command = (view) => {
  const { state } = view;
  if (state.selection.ranges.some((range) => !range.empty)) {
    const changes = new Map<number, { from: number; insert: string }>();
    for (const { from, to } of state.selection.ranges) {
      for (let at = from; at <= to; ) {
        const line = state.doc.lineAt(at);
        if (line.length > 0) changes.set(line.from, { from: line.from, insert: INDENT });
        at = line.to + 1;
      }
    }
    view.dispatch({ changes: [...changes.values()], userEvent: "input.indent" });
    return true;
  }
  const { head } = state.selection.main;
  const column = head - state.doc.lineAt(head).from;
  const insert = INDENT.slice(column % INDENT.length);
  view.dispatch({ changes: { from: head, insert }, selection: { anchor: head + insert.length }, userEvent: "input", scrollIntoView: true });
  return true;
};

/**
 * More than a letter at once (dictation, tools), or over what is selected, is put in here: the browser would join
 * and break lines with style attributes, which the page's policy forbids.
 */
function insertText(event: InputEvent, view: EditorView): boolean {
  if (event.inputType !== "insertText" || event.data === null || event.isComposing) return false;
  const { from, to } = selected(view);
  if (from === to && event.data.length === 1) return false;
  event.preventDefault();
  const insert = view.state.toText(event.data);
  view.dispatch({ changes: { from, to, insert }, selection: { anchor: from + insert.length }, userEvent: "input", scrollIntoView: true });
  return true;
}

/** What is selected in the page: CodeMirror hears of it a little later. */
function selected(view: EditorView): Piece {
  const root: DocumentOrShadowRoot & { getSelection?(): Selection | null } = view.root;
  const now = root.getSelection?.() ?? null;
  const { anchorNode, focusNode } = now ?? {};
  if (now === null || anchorNode == null || focusNode == null) return view.state.selection.main;
  if (!view.contentDOM.contains(anchorNode) || !view.contentDOM.contains(focusNode)) return view.state.selection.main;
  const ends = [view.posAtDOM(anchorNode, now.anchorOffset), view.posAtDOM(focusNode, now.focusOffset)];
  return { from: Math.min(...ends), to: Math.max(...ends) };
}

/** Those of CodeMirror, but that Ctrl Return runs the program. */
const KEYS: readonly KeyBinding[] = [
  { key: "Tab", run: indent, shift: indentLess },
  { key: "Enter", run: insertNewlineAndIndent },
  ...defaultKeymap.filter(({ key }) => key !== "Mod-Enter"),
  ...historyKeymap,
];

const LOOK = EditorView.theme({
  "&": { height: "100%", backgroundColor: "transparent", color: "var(--ink)", fontSize: "13px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", fontFeatureSettings: '"calt" 0', lineHeight: "28px", overflow: "auto" },
  ".cm-content": { padding: "4px 12px 40px 0", caretColor: "var(--ink)" },
  ".cm-line": { padding: "0" },
  ".cm-gutters": { border: "0", backgroundColor: "var(--card)", color: "var(--mute)", fontSize: "12px" },
  ".cm-lineNumbers .cm-gutterElement": { minWidth: "var(--gutter, 52px)", padding: "0 26px 0 0", boxSizing: "border-box" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--bg) 70%, transparent)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--cell)", outline: "1px solid var(--line3)" },
  "&.cm-focused .cm-nonmatchingBracket": { backgroundColor: "var(--warn-t)", outline: "1px solid var(--warn)" },
  ".cm-fault": { textDecoration: "underline wavy var(--warn) 1.4px", textUnderlineOffset: "4px", textDecorationSkipInk: "none" },
});

const COLOURS = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.bool, tags.null, tags.self, tags.meta], color: "var(--code-keyword)" },
  { tag: tags.number, color: "var(--link)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
  { tag: tags.comment, color: "var(--mute)", fontStyle: "italic" },
  { tag: tags.standard(tags.name), color: "var(--code-builtin)" },
  { tag: [tags.definition(tags.function(tags.variableName)), tags.definition(tags.className)], fontWeight: "600" },
]);

export class CodeSurface implements Surface {
  readonly element = el("div", { class: "editor-shadow" });
  private readonly view: EditorView;
  private readonly extensions: Extension;

  constructor(hooks: SurfaceHooks, source: string) {
    const root = this.element.attachShadow({ mode: "open", delegatesFocus: true });
    const inside = el("div", { part: "editor" });
    inside.style.height = "100%";
    root.append(inside);
    this.extensions = [
      lineNumbers(),
      history(),
      highlightActiveLine(),
      bracketMatching(),
      indentOnInput(),
      indentUnit.of(INDENT),
      EditorState.tabSize.of(INDENT.length),
      python(),
      syntaxHighlighting(COLOURS),
      faults,
      LOOK,
      keymap.of(KEYS),
      EditorView.contentAttributes.of({ "aria-label": hooks.label, "aria-description": hooks.keys, tabindex: "0" }),
      EditorView.domEventHandlers({ beforeinput: insertText }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) hooks.edited();
      }),
    ];
    this.view = new EditorView({ state: this.state(source), parent: inside, root });
    // The page's keys step and play; what is typed here is typed here. Ctrl Return goes up, and runs.
    this.element.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) event.stopPropagation();
    });
  }

  get source(): string {
    return this.view.state.doc.toString();
  }

  /** Another program: its undo history begins anew. */
  set source(text: string) {
    if (text !== this.source) this.view.setState(this.state(text));
  }

  get selection(): Piece {
    return this.view.state.selection.main;
  }

  set selection({ from, to }: Piece) {
    const { length } = this.view.state.doc;
    const [anchor, head] = [Math.min(from, length), Math.min(to, length)];
    this.view.dispatch({ selection: { anchor, head }, effects: EditorView.scrollIntoView(head, { y: "nearest", yMargin: 56 }) });
  }

  get focused(): boolean {
    return this.view.hasFocus;
  }

  focus(): void {
    this.view.focus();
  }

  fault(piece: Piece | null, words: string): void {
    const sound = piece !== null && piece.from < piece.to && piece.to <= this.view.state.doc.length;
    this.view.dispatch({ effects: setFault.of(sound ? { ...piece, words } : null) });
  }

  private state(doc: string): EditorState {
    return EditorState.create({ doc, extensions: this.extensions });
  }
}
