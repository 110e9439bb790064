/**
 * The reader's program beside its steps: the editor, and the button that changes between the two.
 *
 * The editor stands where the code is shown; while there is no trace to stand beside, it has a card of
 * its own.
 */
import type { Messages } from "../model/messages";
import type { Player } from "../player";
import { el } from "../views/dom";
import { Editor } from "../views/editor";

export interface EditingHooks {
  /** The text has changed. */
  edited(): void;
  /** The reader wants to see the steps of what was written. */
  wantsSteps(): void;
}

export class Editing {
  private readonly editor: Editor;
  private readonly place = el("div", { class: "code-editor", hidden: true });
  private readonly alone = el("section", { class: "card editor-alone" });
  private readonly button = el("button", { type: "button", class: "small-button edit-button", "aria-pressed": "false" });

  constructor(
    private readonly messages: Messages,
    private readonly player: Player,
    private readonly hooks: EditingHooks,
  ) {
    const words = { label: messages.text("ui.editor.label"), keys: messages.text("ui.editor.keys") };
    this.editor = new Editor(words, () => hooks.edited());
    this.place.append(this.editor.element);
    this.button.addEventListener("click", () => this.toggle());
    this.label();
    player.tools.page.append(this.button);
  }

  get source(): string {
    return this.editor.source;
  }

  set source(text: string) {
    if (this.editor.source !== text) this.editor.source = text;
  }

  /** Opens the editor in place of the code, or the code in place of the editor. */
  open(open: boolean): void {
    this.alone.remove();
    const { codeBody } = this.player;
    if (this.place.parentElement !== codeBody.parentElement) codeBody.after(this.place);
    this.place.hidden = !open;
    codeBody.hidden = open;
    this.button.setAttribute("aria-pressed", String(open));
    this.label();
    if (open) this.opened();
  }

  /** Shows the editor by itself: a program that has not run here yet, and may never. */
  openAlone(stage: HTMLElement): void {
    this.place.hidden = false;
    this.alone.append(this.place);
    stage.append(this.alone);
    this.opened();
  }

  /** Puts the caret at the start of a line. */
  focus(line: number): void {
    this.editor.focus(line);
  }

  /** The code editor is loaded when it is first wanted; what failed in the run that is shown is marked. */
  private opened(): void {
    this.editor.upgrade();
    const trace = this.player.trace;
    if (trace === null || trace.source !== this.source) return;
    const { outcome, explanation } = trace;
    const failed = outcome.kind === "raised" && outcome.range !== null;
    const first = explanation?.sentences[0];
    const why = first === undefined ? (outcome.message ?? "") : this.messages.text(first.id, first.args);
    this.editor.fault(failed ? outcome.range : null, failed ? this.messages.text("ui.editor.fault", { line: outcome.line ?? 0, why }) : "");
  }

  /** The line that raised, for a reader who looks at the end of the run. */
  private get failedLine(): number | null {
    const { trace, step, steps } = this.player;
    return step === steps && trace?.outcome.kind === "raised" ? trace.outcome.line : null;
  }

  private toggle(): void {
    if (this.place.hidden) {
      this.open(true);
      this.focus(this.failedLine ?? this.player.currentLine ?? 1);
    } else this.hooks.wantsSteps();
  }

  private label(): void {
    const open = !this.place.hidden;
    this.button.textContent = open ? this.messages.text("ui.editor.steps") : `✎ ${this.messages.text("ui.editor.edit")}`;
  }
}
