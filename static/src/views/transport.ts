/** The controls of a page: those of all players, to the ends, and going on by itself. */
import type { Messages } from "../model/messages";
import { Controls, PLAY_EVENT } from "./controls";
import { el } from "./dom";
import { signIcon } from "./icons";

export class Transport extends Controls {
  private readonly play = el("button", { type: "button", class: "control control-play" });

  constructor(messages: Messages) {
    super(messages);
    this.element.append(this.play);
    this.play.addEventListener("click", () => {
      this.play.dispatchEvent(new CustomEvent(PLAY_EVENT, { bubbles: true }));
    });
  }

  override show(step: number, steps: number, playing: boolean): void {
    super.show(step, steps, playing);
    this.position.textContent = this.messages.text("ui.step.of", { step, steps });
    const word = this.messages.text(playing ? "ui.controls.pause" : "ui.controls.play");
    this.play.replaceChildren(signIcon(playing ? "pause" : "play"));
    this.play.setAttribute("aria-label", word);
    this.play.title = word;
  }

  protected override parts(): HTMLElement[] {
    return [this.button("first"), this.button("previous"), this.position, this.button("next"), this.button("last")];
  }
}
