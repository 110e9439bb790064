/** First, previous, next, last, play, and where the reader is. Asks by events; the player answers. */
import type { Messages } from "../model/messages";
import { el } from "./dom";
import { signIcon } from "./icons";
import { goTo } from "./view";

/** Asks the player to start or stop going on by itself. */
export const PLAY_EVENT = "play-or-pause";

type Sign = "first" | "previous" | "next" | "last";
const SIGNS: readonly Sign[] = ["first", "previous", "next", "last"];

export class Controls {
  readonly element: HTMLElement;
  private readonly buttons: ReadonlyMap<Sign, HTMLButtonElement>;
  private readonly play: HTMLButtonElement;
  private readonly position = el("span", { class: "position" });
  private step = 0;
  private steps = 0;

  constructor(
    private readonly messages: Messages,
    /** Only previous and next, and numbers instead of words: for small places. */
    private readonly brief: boolean,
  ) {
    this.buttons = new Map(SIGNS.map((sign) => [sign, this.button(sign)]));
    this.play = el("button", { type: "button", class: "control control-play" });
    this.play.addEventListener("click", () => {
      this.play.dispatchEvent(new CustomEvent(PLAY_EVENT, { bubbles: true }));
    });
    const { first, previous, next, last } = Object.fromEntries(this.buttons);
    const shown = brief ? [previous, next, this.position] : [first, previous, this.position, next, last, this.play];
    this.element = el("div", { class: "controls", role: "group" }, ...shown.filter((each) => each !== undefined));
    this.element.setAttribute("aria-label", messages.text("ui.controls.label"));
  }

  show(step: number, steps: number, playing: boolean): void {
    this.step = step;
    this.steps = steps;
    const least = Math.min(1, steps);
    for (const [sign, button] of this.buttons) {
      const back = sign === "first" || sign === "previous";
      // Kept focusable: a button that is disabled while it has the focus drops the reader's place.
      button.setAttribute("aria-disabled", String(back ? step <= least : step >= steps));
    }
    this.position.textContent = this.brief ? `${step} / ${steps}` : this.messages.text("ui.step.of", { step, steps });
    const word = this.messages.text(playing ? "ui.controls.pause" : "ui.controls.play");
    this.play.replaceChildren(signIcon(playing ? "pause" : "play"));
    this.play.setAttribute("aria-label", word);
    this.play.title = word;
  }

  private button(sign: Sign): HTMLButtonElement {
    const word = this.messages.text(`ui.controls.${sign}`);
    const button = el("button", { type: "button", class: `control control-${sign}`, "aria-label": word, title: word });
    button.append(signIcon(sign));
    button.addEventListener("click", () => {
      if (button.getAttribute("aria-disabled") === "true") return;
      const to = { first: Math.min(1, this.steps), previous: this.step - 1, next: this.step + 1, last: this.steps };
      goTo(button, to[sign]);
    });
    return button;
  }
}
