/** The controls of a page: those of all players, to the ends, and going on by itself, as quick as the reader likes. */
import type { Messages } from "../model/messages";
import { Controls, PLAY_EVENT } from "./controls";
import { el, set } from "./dom";
import { signIcon } from "./icons";

const SPEEDS = [0.5, 1, 2, 4];
/** Where the reader's choice is kept. */
const KEPT = "play-speed";

export class Transport extends Controls {
  private readonly play = el("button", { type: "button", class: "control control-play" });
  private playing: boolean | null = null;

  constructor(messages: Messages) {
    super(messages);
    this.element.append(this.play, this.choice());
    this.play.addEventListener("click", () => {
      this.play.dispatchEvent(new CustomEvent(PLAY_EVENT, { bubbles: true }));
    });
  }

  override show(step: number, steps: number, playing: boolean): void {
    super.show(step, steps, playing);
    this.position.textContent = this.messages.text("ui.step.of", { step, steps });
    if (playing === this.playing) return;
    this.playing = playing;
    const word = this.messages.text(playing ? "ui.controls.pause" : "ui.controls.play");
    this.play.replaceChildren(signIcon(playing ? "pause" : "play"));
    set(this.play, "aria-label", word);
    this.play.title = word;
  }

  protected override parts(): HTMLElement[] {
    return [this.button("first"), this.button("previous"), this.position, this.button("next"), this.button("last")];
  }

  private choice(): HTMLElement {
    const word = this.messages.text("ui.controls.speed");
    const options = SPEEDS.map((speed) => el("option", { value: speed }, `${speed}×`));
    const choice = el("select", { class: "control-speed", "aria-label": word, title: word }, ...options);
    this.speed = kept();
    choice.value = String(this.speed);
    choice.addEventListener("change", () => {
      this.speed = Number(choice.value);
      keep(choice.value);
    });
    return choice;
  }
}

function kept(): number {
  try {
    const speed = Number(localStorage.getItem(KEPT));
    return SPEEDS.includes(speed) ? speed : 1;
  } catch {
    return 1;
  }
}

function keep(speed: string): void {
  try {
    localStorage.setItem(KEPT, speed);
  } catch {
    // Nowhere to keep it: it lasts as long as the page.
  }
}
