/** Where a trace will stand, while the first one of a page is on its way: shapes, and how far it is. */
import type { Messages } from "../model/messages";
import { el } from "../views/dom";
import type { Going } from "./runs";

export class Skeleton {
  private readonly words = el("p", { class: "skeleton-words" });
  private readonly element: HTMLElement;

  constructor(private readonly messages: Messages) {
    const bars = (count: number): HTMLElement[] => Array.from({ length: count }, () => el("i"));
    this.element = el("div", { class: "skeleton", "aria-hidden": "true" }, el("div", { class: "card" }, ...bars(3)), el("div", { class: "card" }, ...bars(5)), el("div", { class: "card skeleton-wide" }, this.words, ...bars(2)));
  }

  /** Stands in a place while a run goes on; null takes it away. */
  show(going: Going | null, into: HTMLElement): void {
    if (going === null) {
      this.element.remove();
      return;
    }
    const { seconds, steps, line } = going;
    this.words.textContent = this.messages.text("ui.run.running", { seconds, steps, line: line ?? 0 });
    if (!this.element.isConnected) into.append(this.element);
  }
}
