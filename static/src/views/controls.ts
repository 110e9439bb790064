/** Previous, next, and where the reader is. Asks by events; the player answers. Pages have more: `transport`. */
import type { Messages } from "../model/messages";
import { el } from "./dom";
import { signIcon } from "./icons";
import { goTo } from "./view";

/** Asks the player to start or stop going on by itself. */
export const PLAY_EVENT = "play-or-pause";

export type Sign = "first" | "previous" | "next" | "last";

export class Controls {
  readonly element: HTMLElement;
  protected readonly position = el("span", { class: "position" });
  /** How many times as quick as usual it goes on by itself. */
  speed = 1;
  protected step = 0;
  protected steps = 0;

  constructor(protected readonly messages: Messages) {
    this.element = el("div", { class: "controls", role: "group" }, ...this.parts());
    this.element.setAttribute("aria-label", messages.text("ui.controls.label"));
  }

  show(step: number, steps: number, _playing: boolean): void {
    this.step = step;
    this.steps = steps;
    this.position.textContent = `${step} / ${steps}`;
    for (const button of this.element.querySelectorAll<HTMLElement>("[data-sign]")) {
      const back = button.dataset["sign"] === "first" || button.dataset["sign"] === "previous";
      // Kept focusable: a button that is disabled while it has the focus drops the reader's place.
      button.setAttribute("aria-disabled", String(back ? step <= Math.min(1, steps) : step >= steps));
    }
  }

  protected parts(): HTMLElement[] {
    return [this.button("previous"), this.button("next"), this.position];
  }

  protected button(sign: Sign): HTMLButtonElement {
    const word = this.messages.text(`ui.controls.${sign}`);
    const button = el("button", { type: "button", class: `control control-${sign}`, "data-sign": sign, "aria-label": word, title: word });
    button.append(signIcon(sign));
    button.addEventListener("click", () => {
      if (button.getAttribute("aria-disabled") === "true") return;
      const to = { first: Math.min(1, this.steps), previous: this.step - 1, next: this.step + 1, last: this.steps };
      goTo(button, to[sign]);
    });
    return button;
  }
}
