/**
 * A lesson: its players, and its questions.
 *
 * The answer to a question is not in the page: it is asked for when the reader locks in. The figure
 * that belongs to it is then shown past the line it stopped at. The header says which part is read.
 */
import { pageMessages, setUpFrame } from "./page";
import { defineTracePlayer } from "./trace-player";
import { el } from "./views/dom";
import { prose } from "./views/prose";

interface Answer {
  readonly choices: Readonly<Record<string, { readonly right: boolean; readonly feedback: string }>>;
  readonly explanation: string;
  readonly src: string;
  readonly step: number;
}

class QuestionForm {
  constructor(private readonly form: HTMLFormElement) {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.reveal(event.submitter?.getAttribute("name") === "skip");
    });
  }

  private async reveal(skipped: boolean): Promise<void> {
    const buttons = [...this.form.querySelectorAll("button")];
    for (const button of buttons) button.disabled = true;
    try {
      const response = await fetch(this.form.dataset["answers"] ?? "");
      if (!response.ok) throw new Error(String(response.status));
      this.show((await response.json()) as Answer, skipped);
    } catch {
      for (const button of buttons) button.disabled = false;
      this.form.querySelector(".notice")?.remove();
      this.form.append(el("p", { class: "notice", role: "alert" }, messages.text("ui.player.not-loaded")));
    }
  }

  private show(answer: Answer, skipped: boolean): void {
    let right = 0;
    const choices = [...this.form.querySelectorAll<HTMLElement>("[data-choice]")];
    for (const choice of choices) {
      const input = choice.querySelector("input");
      const said = answer.choices[choice.dataset["choice"] ?? ""];
      if (input === null || said === undefined) continue;
      if (input.checked === said.right) right += 1;
      choice.classList.toggle("right", said.right);
      choice.classList.toggle("wrong", !said.right && input.checked);
      const missed = said.right && !input.checked && !skipped;
      choice.classList.toggle("missed", missed);
      input.disabled = true;
      const verdict = choice.querySelector<HTMLElement>(".choice-verdict");
      if (verdict !== null) verdict.textContent = verdict.dataset[missed ? "missed" : said.right ? "yes" : "no"] ?? "";
      choice.querySelector(".choice-feedback")?.replaceChildren(...prose(said.feedback));
    }
    this.form.classList.add("revealed");
    this.form.dispatchEvent(new CustomEvent("question-answered", { bubbles: true }));
    this.form.querySelector(".question-actions")?.remove();
    const hint = this.form.querySelector(".question-hint");
    if (hint !== null) hint.textContent = messages.text(skipped ? "ui.question.skipped" : "ui.question.score", { right, count: choices.length });
    const explanation = this.form.querySelector<HTMLElement>(".question-answer");
    if (explanation !== null) {
      explanation.replaceChildren(...prose(answer.explanation));
      explanation.hidden = false;
      explanation.focus({ preventScroll: true });
    }
    const player = document.getElementById(this.form.dataset["player"] ?? "");
    player?.setAttribute("step", String(answer.step));
    player?.setAttribute("src", answer.src);
  }
}

/** Which part is being read, in words and as a row of marks: past parts without an open question are done. */
class Progress {
  private readonly words = el("span", {});
  private readonly marks: readonly HTMLElement[];
  private readonly outside: string;
  private current = -1;

  constructor(
    private readonly parts: readonly HTMLElement[],
    status: HTMLElement,
  ) {
    this.outside = status.textContent.trim();
    this.marks = parts.map(() => el("i", {}));
    status.replaceChildren(this.words, el("span", { class: "progress", "aria-hidden": "true" }, ...this.marks));
    const observer = new IntersectionObserver(() => this.read(), { rootMargin: "-40% 0px -60% 0px" });
    for (const part of parts) observer.observe(part);
    document.addEventListener("question-answered", () => this.show());
    this.read();
  }

  private read(): void {
    const line = innerHeight * 0.4;
    this.current = this.parts.findLastIndex((part) => part.getBoundingClientRect().top <= line);
    this.show();
  }

  private show(): void {
    this.words.textContent = this.parts[this.current]?.querySelector(".eyebrow")?.textContent ?? this.outside;
    this.marks.forEach((mark, i) => {
      const open = this.parts[i]?.querySelector(".question:not(.revealed)") != null;
      mark.className = i === this.current ? "now" : i < this.current && !open ? "done" : "";
    });
  }
}

setUpFrame();
const messages = pageMessages();
defineTracePlayer([], import("./features/figures").then(({ FIGURE_FEATURES }) => FIGURE_FEATURES));
for (const form of document.querySelectorAll<HTMLFormElement>("form.question:not(.revealed)")) new QuestionForm(form);
const status = document.getElementById("header-status");
const parts = [...document.querySelectorAll<HTMLElement>(".part:has(h2)")];
if (status !== null && parts.length > 0) new Progress(parts, status);
