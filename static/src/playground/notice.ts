/**
 * Says what went wrong, with its numbers, and offers what can be done about it: to try again, at once or
 * when the server said; when the connection is back; on another device.
 */
import type { Messages } from "../model/messages";
import { Problem } from "../model/run";
import { el } from "../views/dom";

/** Problems that may be gone the next time. */
const PASSING: ReadonlySet<string> = new Set(["busy", "sandbox-restarting", "unreachable", "offline", "cut-short", "internal"]);
const OF_THE_CONNECTION: ReadonlySet<string> = new Set(["unreachable", "offline"]);
/** Waits that end by themselves, one after another; then the reader decides. */
const MOST_WAITS = 3;

export class Notice {
  readonly element: HTMLElement;
  private readonly words = el("p", { role: "alert" });
  private readonly again = el("button", { type: "button", class: "small-button", hidden: true });
  private timer: ReturnType<typeof setInterval> | undefined;
  private waits = 0;
  private code: string | null = null;
  private retry: (() => void) | null = null;

  constructor(private readonly messages: Messages) {
    this.element = el("div", { class: "notice problem", hidden: true }, this.words, this.again);
    this.again.addEventListener("click", () => {
      this.waits = 0;
      this.act();
    });
    addEventListener("online", () => {
      if (this.code !== null && OF_THE_CONNECTION.has(this.code)) this.act();
    });
  }

  /** Says a problem; `retry` is what the reader would do again. */
  show(problem: Problem, retry: (() => void) | null = null): void {
    clearInterval(this.timer);
    this.code = problem.code === "unreachable" && !navigator.onLine ? "offline" : problem.code;
    this.retry = retry;
    const id = `ui.problem.${this.code}`;
    const args = { limit: problem.limit ?? 0, seconds: problem.retryAfter ?? 1, message: problem.message };
    const said = this.messages.text(id, args);
    this.words.textContent = said === id ? problem.message : said;
    this.element.hidden = false;
    this.again.hidden = retry === null || !PASSING.has(this.code);
    this.again.textContent = this.messages.text("ui.problem.again");
    if (this.again.hidden || problem.retryAfter === null || this.waits >= MOST_WAITS) return;
    this.waits += 1;
    this.countDown(problem.retryAfter);
  }

  /** Nothing is wrong any more. */
  hide(): void {
    clearInterval(this.timer);
    this.code = null;
    this.element.hidden = true;
  }

  /** A run gave a trace: the next trouble is a new one. */
  over(): void {
    this.hide();
    this.waits = 0;
  }

  private countDown(seconds: number): void {
    let left = Math.ceil(seconds);
    const tell = (): void => void (this.again.textContent = this.messages.text("ui.problem.again-in", { seconds: left }));
    tell();
    this.timer = setInterval(() => {
      left -= 1;
      if (left > 0) tell();
      else this.act();
    }, 1000);
  }

  private act(): void {
    const { retry } = this;
    this.hide();
    retry?.();
  }
}
