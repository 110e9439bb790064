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
    this.editor = new Editor(messages.text("ui.editor.label"), () => hooks.edited());
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
  }

  /** Shows the editor by itself: a program that has not run here yet, and may never. */
  openAlone(stage: HTMLElement): void {
    this.place.hidden = false;
    this.alone.append(this.place);
    stage.append(this.alone);
  }

  /** Puts the caret at the start of a line. */
  focus(line: number): void {
    this.editor.focus(line);
  }

  private toggle(): void {
    if (this.place.hidden) {
      this.open(true);
      this.focus(this.player.currentLine ?? 1);
    } else this.hooks.wantsSteps();
  }

  private label(): void {
    const open = !this.place.hidden;
    this.button.textContent = open ? this.messages.text("ui.editor.steps") : `✎ ${this.messages.text("ui.editor.edit")}`;
  }
}
