/**
 * How the run ended, when it did not simply finish: one line, and on request the whole story.
 *
 * The story is the explanation, the message word for word, the limit that was met, and the ways to
 * the line that raised and to the line that caused it. What watching changed is said here as well.
 */
import { gapAfter, type Messages } from "../model/messages";
import { stepOfLine, type Outline } from "../model/outline";
import type { Trace } from "../schema/trace.gen";
import { el } from "./dom";
import { sentence } from "./sentence";
import { goTo, type View } from "./view";

let stories = 0;

export class OutcomeView implements View {
  constructor(
    private readonly outline: Outline,
    private readonly messages: Messages,
    /** One short line: the ways to other lines are in the story. For small places. */
    private readonly brief: boolean,
  ) {}

  mount(root: HTMLElement, trace: Trace): void {
    const { outcome } = trace;
    const quiet = outcome.kind === "finished" && trace.observer_effects.length === 0 && !this.notices(trace);
    root.hidden = quiet;
    root.className = `outcome outcome-${outcome.kind}`;
    root.replaceChildren();
    if (quiet) return;
    stories += 1;
    const story = this.story(trace);
    story.id = `outcome-story-${stories}`;
    story.hidden = true;
    const more = el("button", { type: "button", class: "small-button", "aria-expanded": "false", "aria-controls": story.id });
    more.textContent = this.messages.text("ui.outcome.more");
    const open = (shown: boolean): void => {
      story.hidden = !shown;
      more.setAttribute("aria-expanded", String(shown));
      more.textContent = this.messages.text(shown ? "ui.outcome.less" : "ui.outcome.more");
    };
    more.addEventListener("click", () => open(story.hidden !== false));
    root.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || story.hidden !== false) return;
      open(false);
      more.focus();
    });
    const line = el("p", { class: "outcome-line" }, ...this.headline(trace));
    line.title = line.textContent;
    const bar = el("div", { class: "outcome-bar" }, el("span", { class: "outcome-sign", "aria-hidden": "true" }, this.sign(trace)), line);
    if (this.brief) story.append(el("p", { class: "outcome-links" }, ...this.links(trace)));
    else bar.append(...this.links(trace));
    bar.append(more);
    root.append(bar, story);
  }

  show(): void {
    // The end of a run is the same at every step.
  }

  /** It ran to its end, and not as it was meant, perhaps. In small places its line says so. */
  private notices({ outcome, notes }: Trace): boolean {
    return outcome.kind === "finished" && notes.length > 0 && !this.brief;
  }

  private sign(trace: Trace): string {
    return trace.outcome.kind === "finished" ? "!" : "✕";
  }

  private headline(trace: Trace): (string | Element | Text)[] {
    const { outcome, explanation } = trace;
    const [note] = trace.notes;
    if (this.notices(trace) && note !== undefined) {
      const { line, sentence: { id, args } } = note;
      const why = el("span", { class: "outcome-why" }, ...sentence(this.messages.parts(id, args)));
      return [el("strong", {}, this.messages.text("ui.changes.note")), this.messages.text("ui.outcome.place", { line }), why];
    }
    if (outcome.kind === "finished") return [this.messages.text("ui.outcome.observed", { count: trace.observer_effects.length })];
    const name = outcome.type ?? this.messages.text(`ui.outcome.short.${outcome.reason ?? outcome.kind}`);
    const place = this.messages.text("ui.outcome.place", { line: outcome.line ?? 0 });
    const first = explanation?.sentences[0];
    const parts = first === undefined ? [{ text: this.firstLine(trace), style: "plain" as const }] : this.messages.parts(first.id, first.args);
    const busiest = this.busiest(trace);
    const fix = outcome.kind === "raised" ? undefined : explanation?.sentences[1];
    const advice = fix === undefined ? [] : sentence(this.messages.parts(fix.id, fix.args));
    const said = parts.at(-1)?.text ?? "";
    const why = el("span", { class: "outcome-why" }, ...sentence(parts), busiest === "" ? "" : gapAfter(said) + busiest, advice.length === 0 ? "" : gapAfter(busiest === "" ? said : busiest), ...advice);
    return [el("strong", {}, name), place, why];
  }

  /** Of a program stopped for its time: which line ran most often. */
  private busiest({ outcome, steps, statements }: Trace): string {
    if (outcome.kind !== "stopped" || (outcome.reason !== "time-limit" && outcome.reason !== "step-limit")) return "";
    const times = new Map<number, number>();
    for (const { statement, executions } of steps) times.set(statement, (times.get(statement) ?? 0) + executions);
    const [busiest, most] = [...times].reduce((best, each) => (each[1] > best[1] ? each : best), [0, 0]);
    const line = statements[busiest]?.range.line ?? 0;
    return most > 1 ? this.messages.text("ui.outcome.busiest", { line, times: most }) : "";
  }

  private firstLine({ outcome }: Trace): string {
    if (outcome.kind !== "raised" && outcome.reason !== null) {
      return this.messages.text(`ui.outcome.${outcome.reason}`);
    }
    return (outcome.message ?? "").split("\n")[0] ?? "";
  }

  private links(trace: Trace): HTMLElement[] {
    const { outcome, explanation } = trace;
    const found: HTMLElement[] = [];
    const link = (id: string, line: number | null | undefined): void => {
      const step = line === null || line === undefined ? null : stepOfLine(this.outline, line);
      if (step === null) return;
      const button = el("button", { type: "button", class: "small-button" }, this.messages.text(id, { line: line ?? 0 }));
      button.addEventListener("click", () => goTo(button, step));
      found.push(button);
    };
    if (explanation !== null && explanation.caused_by !== outcome.line) link("ui.outcome.go-cause", explanation.caused_by);
    if (outcome.kind !== "finished") link("ui.outcome.go-line", outcome.line);
    else if (this.notices(trace)) for (const line of new Set(trace.notes.map((note) => note.line).slice(0, 3))) link("ui.outcome.go-line", line);
    return found;
  }

  private story(trace: Trace): HTMLElement {
    const { outcome, explanation } = trace;
    const story = el("div", { class: "outcome-story" });
    for (const each of explanation?.sentences ?? []) {
      story.append(el("p", {}, ...sentence(this.messages.parts(each.id, each.args))));
    }
    if (outcome.reason !== null && explanation === null) {
      story.append(el("p", {}, this.messages.text(`ui.outcome.${outcome.reason}`)));
    }
    if (outcome.message !== null && outcome.message !== "") {
      const name = outcome.type === null ? "" : `${outcome.type}: `;
      story.append(el("pre", { class: "quoted" }, `${name}${outcome.message}`));
    }
    if (outcome.traceback.length > 1) {
      const lines = outcome.traceback.map((line) => `${line}  ${(this.outline.lines[line - 1] ?? "").trim()}`);
      story.append(el("p", {}, this.messages.text("ui.outcome.traceback")), el("pre", { class: "quoted" }, lines.join("\n")));
    }
    if (outcome.kind === "stopped" || outcome.kind === "crashed") {
      story.append(el("p", {}, this.messages.text("ui.outcome.kept", { steps: this.outline.steps.length })));
    }
    for (const { id, args } of [...(this.notices(trace) ? trace.notes.map((note) => note.sentence) : []), ...trace.comparison.sentences]) {
      story.append(el("p", {}, ...sentence(this.messages.parts(id, args))));
    }
    return story;
  }
}
