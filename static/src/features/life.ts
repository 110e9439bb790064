/**
 * The life of one storage where there is no timeline of a page: the ways to its writes, and in words when it was
 * made, shared, written and freed. `,` and `.` go from write to write.
 *
 * It follows what Memory shows until the reader points at something, and that from then on.
 */
import { storageColours } from "../layout/devices";
import { lookingAt } from "../layout/focus";
import { livesOf } from "../layout/lives";
import type { Focus, State } from "../model/state";
import type { Extra, Feature, Stage } from "../stage";
import { el } from "../views/dom";
import { LifeRow } from "../views/life";

let rows = 0;

export const LIFE: Feature = (stage) => {
  stage.root.querySelector(".life-words")?.remove();
  return stage.showsControls ? new CompactLife(stage) : null;
};

class CompactLife implements Extra {
  readonly keys = [[", .", "writes"]] as const;
  private readonly row: LifeRow;
  private readonly words = el("p", { class: "life-words", hidden: true });
  private readonly opener: HTMLButtonElement;
  private pointed = false;
  private said = "";

  constructor(private readonly stage: Stage) {
    const { trace, outline, messages, root, tools } = stage;
    const lives = livesOf(trace);
    this.row = new LifeRow(trace, lives, outline, storageColours(lives), messages.text);
    rows += 1;
    this.words.id = `life-${rows}`;
    const label = messages.text("ui.life.title");
    this.opener = el("button", { type: "button", class: "life-opener", title: label, "aria-label": label, "aria-expanded": "false", "aria-controls": this.words.id });
    this.opener.addEventListener("click", () => this.open(this.words.hidden === true));
    this.row.name.querySelector(".life-badge")?.replaceWith(this.opener);
    this.opener.append(this.row.badge);
    tools.timeline.append(this.row.name);
    root.querySelector(".player-steps")?.before(this.words);
  }

  show(state: State, focus: Focus): void {
    this.pointed ||= focus.storage !== null || focus.tensor !== null;
    const followed = this.pointed ? focus : { ...focus, storage: lookingAt(state, focus, this.stage.trace.steps[state.step - 1], this.stage.trace).storage };
    this.row.show(state, followed);
    this.name();
    if (this.words.hidden) return;
    const words = this.row.words();
    if (words !== this.said) this.words.textContent = this.said = words;
  }

  key(key: string): boolean {
    if (key === ",") this.row.go("previous");
    else if (key === ".") this.row.go("next");
    else return false;
    return true;
  }

  /** Named by the label that is seen, and what it opens. */
  private name(): void {
    const name = `${this.row.badge.textContent} ${this.opener.title}`.trim();
    if (this.opener.ariaLabel !== name) this.opener.ariaLabel = name;
  }

  private open(on: boolean): void {
    this.words.hidden = !on;
    this.opener.setAttribute("aria-expanded", String(on));
    if (on) this.words.textContent = this.said = this.row.words() || this.stage.messages.text("ui.timeline.noLife");
  }
}
