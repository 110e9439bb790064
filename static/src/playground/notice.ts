/** Says what went wrong, with its numbers, and offers what can be done about it. */
import type { Messages } from "../model/messages";
import { Problem } from "../model/run";
import { el } from "../views/dom";

export class Notice {
  readonly element = el("p", { class: "notice problem", role: "alert", hidden: true });

  constructor(private readonly messages: Messages) {}

  show(problem: Problem): void {
    const id = `ui.problem.${problem.code}`;
    const args = { limit: problem.limit ?? 0, seconds: problem.retryAfter ?? 1, message: problem.message };
    const said = this.messages.text(id, args);
    this.element.textContent = said === id ? problem.message : said;
    this.element.hidden = false;
  }

  hide(): void {
    this.element.hidden = true;
  }
}
