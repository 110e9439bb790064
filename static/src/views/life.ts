/**
 * The life of one storage below the tracks: when it was there, written, shared, under which names.
 *
 * It is the storage the reader pointed at last, and stays while the steps change. Coordinates come from
 * `layout/timeline.ts`.
 */
import { lifeOf, writeFrom, type Life } from "../layout/life";
import type { Lives } from "../layout/lives";
import type { Scale } from "../layout/steps";
import { lifePaths } from "../layout/timeline";
import { together } from "../model/messages";
import type { Outline } from "../model/outline";
import type { Focus, State } from "../model/state";
import type { Trace } from "../schema/trace.gen";
import { markClass, storageBadge } from "./badge";
import { el, set, svg } from "./dom";
import { signIcon } from "./icons";
import { goTo, pick, type Say } from "./view";

type Way = "previous" | "next";

export class LifeRow {
  /** Left of the row: whose life it is, and the ways to its writes. */
  readonly name: HTMLElement;
  readonly group = svg("g", { class: "life" });
  /** What the row is waiting for. */
  readonly hint: HTMLElement;
  /** Whose life it is. */
  readonly badge = el("span", { class: "life-badge" });
  private readonly buttons: Readonly<Record<Way, HTMLButtonElement>>;
  private life: Life | null = null;
  private step = 0;
  private scale: Scale | null = null;
  private top = 0;

  constructor(
    private readonly trace: Trace,
    private readonly lives: Lives,
    private readonly outline: Outline,
    private readonly colours: ReadonlyMap<number, number>,
    private readonly say: Say,
  ) {
    this.buttons = { previous: this.button("previous"), next: this.button("next") };
    this.name = el("div", { class: "timeline-life-name", role: "group" }, this.badge, this.buttons.previous, this.buttons.next);
    const hint = say("ui.timeline.noLife");
    this.hint = el("div", { class: "life-hint", title: hint }, el("span", {}, hint));
    this.describe();
  }

  /** Draws on a scale, from a height on. */
  place(scale: Scale, top: number): void {
    this.scale = scale;
    this.top = top;
    this.hint.style.top = `${top}px`;
    this.draw();
  }

  show(state: State, focus: Focus): void {
    this.step = state.step;
    const pointed = focus.storage ?? (focus.tensor === null ? null : (state.tensors.get(focus.tensor)?.storage ?? null));
    if (pointed !== null && pointed !== this.life?.storage) {
      this.life = lifeOf(this.trace, this.lives, pointed);
      this.draw();
      this.describe();
    }
    for (const way of ["previous", "next"] as const) {
      const to = this.life === null ? null : writeFrom(this.life, this.step, way);
      set(this.buttons[way], "aria-disabled", String(to === null));
    }
  }

  /** Goes to a write of the storage, and points at it there. */
  go(way: Way): void {
    const { life, step } = this;
    const to = life === null ? null : writeFrom(life, step, way);
    if (life === null || to === null) return;
    goTo(this.name, to);
    pick(this.name, { storage: life.storage, tensor: null, index: null });
  }

  /** When it was made, written, shared and freed, in words; empty while nothing is followed. */
  words(): string {
    const { life, say } = this;
    if (life === null) return "";
    const line = (step: number): number => this.outline.steps[step - 1]?.line ?? 0;
    const lines = (steps: readonly number[]): string[] => [...new Set(steps.map((step) => String(line(step))))];
    const parts = [say("ui.life.born", { storage: `S${life.storage}`, line: line(life.born), n: life.nbytes, device: life.device })];
    parts.push(life.writes.length === 0 ? say("ui.life.unwritten") : say("ui.life.written", { n: life.writes.length, lines: lines(life.writes) }));
    for (const { born, gone } of life.shared.slice(0, 3)) {
      const names = [...new Set(life.names.filter((each) => each.born < gone && each.gone > born).map(({ name }) => name))];
      parts.push(Number.isFinite(gone) ? say("ui.life.shared", { names, line: line(born), end: line(gone) }) : say("ui.life.sharedOn", { names, line: line(born) }));
    }
    if (Number.isFinite(life.gone)) parts.push(say("ui.life.freed", { line: line(life.gone) }));
    return together(parts);
  }

  private button(way: Way): HTMLButtonElement {
    const word = this.say(`ui.timeline.${way}Write`);
    const key = way === "previous" ? "," : ".";
    const button = el("button", { type: "button", class: `life-${way}`, "aria-label": word, title: `${word} (${key})`, "aria-keyshortcuts": key });
    button.append(signIcon(way));
    button.addEventListener("click", () => this.go(way));
    return button;
  }

  private describe(): void {
    const { life } = this;
    const tip = this.words() || this.say("ui.timeline.noLife");
    this.hint.hidden = life !== null;
    this.badge.replaceChildren(life === null ? "–" : storageBadge(life.storage, this.colours.get(life.storage) ?? 0));
    this.name.title = tip;
    this.name.setAttribute("aria-label", tip);
  }

  private draw(): void {
    const { life, scale, top } = this;
    if (life === null || scale === null) {
      this.group.replaceChildren();
      return;
    }
    const { there, shared, names, writes } = lifePaths(life, scale, top + 3);
    this.group.replaceChildren(
      svg("path", { class: "life-there", d: there }),
      svg("path", { class: "life-shared", d: shared }),
      ...names.map(({ mark, d }) => svg("path", { class: `life-name ${markClass(mark)}`, d })),
      svg("path", { class: "life-writes", d: writes }),
    );
  }
}
