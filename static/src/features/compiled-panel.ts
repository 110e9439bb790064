/**
 * One compilation: its graph as a picture, what is checked before the graph is used again, where it breaks, why
 * it was compiled again, how often it ran.
 *
 * It follows the step: shown is what was compiled or run last. What the reader chose stays until a step
 * compiles or runs something else.
 */
import { compilationsOf, drawnGraphs, lineRange, shownAt, type Compiled } from "../model/compilations";
import type { FailedGuard, GraphBreak, Guard } from "../schema/trace.gen";
import type { Stage } from "../stage";
import { el, type Child } from "../views/dom";
import { fxList, fxPicture } from "../views/fx";
import { goTo, pointAt, type Say } from "../views/view";

const GUARDS_SHOWN = 12;

export class CompiledPanel {
  readonly parts: readonly HTMLElement[];
  private readonly chips = el("div", { class: "compiled-chips", role: "tablist" });
  private readonly stages = el("div", { class: "segments compiled-stages", role: "group" });
  private readonly picture = el("div", { class: "compiled-picture" });
  private readonly facts = el("div", { class: "compiled-facts", tabindex: 0, role: "tabpanel" });
  private readonly compilations: readonly Compiled[];
  private readonly say: Say;
  private step = 0;
  /** The compilation that is shown. */
  private index = 0;
  /** The one that the step asks for. */
  private asked = -1;
  private graph = 0;
  private asList = false;
  private built = "";

  constructor(
    private readonly stage: Stage,
    buttons: HTMLElement,
  ) {
    this.say = stage.messages.text;
    this.compilations = compilationsOf(stage.trace);
    this.chips.setAttribute("aria-label", this.say("ui.compiled.title"));
    this.stages.setAttribute("aria-label", this.say("ui.compiled.stages"));
    const header = el("header", {}, el("h2", {}, this.say("ui.compiled.title")), buttons, el("span", { class: "space" }), this.stages);
    const body = el("div", { class: "compiled-body" }, this.picture, this.facts);
    this.compilations.forEach(({ facts }, index) => {
      const chip = el("button", { type: "button", class: "compiled-chip", role: "tab" }, ...chipWords(facts, this.say));
      chip.addEventListener("click", () => this.choose(index));
      this.chips.append(chip);
    });
    this.chips.addEventListener("keydown", (event) => this.moved(event));
    this.chips.hidden = this.compilations.length < 2;
    this.parts = [header, this.chips, body];
  }

  show(step: number): void {
    this.step = step;
    const asked = shownAt(this.compilations, step);
    if (asked !== this.asked) {
      this.asked = asked;
      this.index = asked;
      this.graph = 0;
    }
    this.paint();
  }

  private choose(index: number): void {
    this.index = index;
    this.graph = 0;
    this.paint();
  }

  private moved(event: KeyboardEvent): void {
    const way = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (way === 0) return;
    const count = this.compilations.length;
    this.choose((this.index + way + count) % count);
    (this.chips.children[this.index] as HTMLElement | undefined)?.focus();
    event.preventDefault();
    event.stopPropagation();
  }

  private paint(): void {
    const compiled = this.compilations[this.index];
    if (compiled === undefined) return;
    [...this.chips.children].forEach((chip, index) => {
      const each = this.compilations[index];
      chip.setAttribute("aria-selected", String(index === this.index));
      (chip as HTMLElement).tabIndex = index === this.index ? 0 : -1;
      chip.classList.toggle("future", each !== undefined && each.step > this.step);
      chip.classList.toggle("now", each !== undefined && (each.step === this.step || each.runs.has(this.step)));
    });
    this.picture.classList.toggle("future", compiled.step > this.step);
    this.paintGraph(compiled);
    this.facts.replaceChildren(...this.told(compiled));
  }

  /** The graph is made anew only when it is another one: stepping leaves it where the reader moved it. */
  private paintGraph(compiled: Compiled): void {
    const key = `${this.index} ${this.graph} ${this.asList}`;
    if (this.built === key) return;
    this.built = key;
    const graphs = drawnGraphs(this.stage.trace, compiled);
    const graph = graphs[this.graph];
    this.stages.replaceChildren();
    if (graph === undefined) {
      this.picture.replaceChildren(el("p", { class: "graph-empty" }, this.say(`ui.compiled.without.${compiled.facts.outcome}`)));
      return;
    }
    if (graphs.length > 1) graphs.forEach(({ graph: { stage } }, index) => this.addStage(this.say(`ui.compiled.stage.${stage}`), index));
    const list = el("button", { type: "button", class: "compiled-list", "aria-pressed": String(this.asList) }, this.say("ui.graph.list"));
    list.addEventListener("click", () => {
      this.asList = !this.asList;
      this.paint();
      this.stages.querySelector<HTMLElement>(".compiled-list")?.focus();
    });
    this.stages.append(list);
    const { lines } = this.stage.outline;
    const picture = this.asList ? null : fxPicture(graph, lines, this.say);
    this.picture.replaceChildren(picture ?? fxList(graph, lines, this.say));
  }

  private addStage(label: string, index: number): void {
    const button = el("button", { type: "button", "aria-pressed": String(index === this.graph) }, label);
    button.addEventListener("click", () => {
      this.graph = index;
      this.paint();
      (this.stages.children[index] as HTMLElement | undefined)?.focus();
    });
    this.stages.append(button);
  }

  private told(compiled: Compiled): HTMLElement[] {
    const { say } = this;
    const { facts, runs } = compiled;
    const ran = [...runs].filter(([step]) => step <= this.step).reduce((sum, [, count]) => sum + count, 0);
    const calls = facts.graphs[0]?.calls ?? 0;
    const made = el("button", { type: "button", class: "link-button" }, say("ui.compiled.step", { step: compiled.step }));
    made.addEventListener("click", () => goTo(made, compiled.step));
    const rows: HTMLElement[] = [
      row(say("ui.compiled.function"), el("code", {}, facts.function), ...this.place(facts.line, facts.resumes)),
      row(say("ui.compiled.made"), made, facts.backend === null ? null : el("span", {}, say("ui.compiled.backend", { backend: facts.backend }))),
    ];
    if (facts.outcome === "graph") {
      rows.push(row(say("ui.compiled.size"), el("span", {}, say("ui.compiled.calls", { n: calls }))));
      rows.push(row(say("ui.compiled.ran"), el("span", {}, say("ui.compiled.runs", { n: ran, cached: Math.max(0, ran - 1) }))));
    } else if (facts.reason !== null) rows.push(row(say("ui.compiled.why"), el("span", {}, facts.reason)));
    const parts: HTMLElement[] = [el("dl", { class: "compiled-rows" }, ...rows)];
    for (const failed of facts.recompiled.slice(0, 3)) parts.push(this.failed(failed));
    for (const each of facts.breaks) parts.push(this.broke(each));
    if (facts.guard_count > 0) parts.push(this.guards(facts.guards, facts.guard_count));
    return parts;
  }

  private place(line: number | null, resumes: boolean): Child[] {
    if (line === null) return [];
    return [this.line(line, this.say(resumes ? "ui.compiled.from" : "ui.graph.line", { line }))];
  }

  private line(line: number, words: string): HTMLElement {
    const button = el("button", { type: "button", class: "link-button" }, words);
    const range = lineRange(this.stage.outline.lines, line);
    for (const name of ["pointerenter", "focus", "click"]) button.addEventListener(name, () => pointAt(button, range));
    for (const name of ["pointerleave", "blur"]) button.addEventListener(name, () => pointAt(button, null));
    return button;
  }

  private broke(each: GraphBreak): HTMLElement {
    const { say } = this;
    const where = each.line === null ? null : this.line(each.line, say("ui.graph.line", { line: each.line }));
    const hints = each.hints.slice(0, 2).map((hint) => el("li", {}, hint));
    return el(
      "section",
      { class: "compiled-break" },
      el("h3", {}, say("ui.compiled.break"), " ", where),
      el("p", {}, each.reason),
      hints.length === 0 ? null : el("ul", {}, ...hints),
    );
  }

  private failed({ graph, what, source, index, expected, actual, text }: FailedGuard): HTMLElement {
    const { say } = this;
    const known = expected !== null && what !== "other" && what !== "mode";
    const name = say(`ui.compiled.what.${what}`, { index: index ?? 0 });
    const change = known
      ? el("p", { class: "compiled-change" }, el("code", {}, source ?? "?"), ` ${name} `, el("del", {}, expected), " → ", el("ins", {}, actual ?? "…"))
      : el("p", { class: "compiled-change" }, el("code", {}, what === "mode" ? (source ?? text) : text));
    return el("section", { class: "compiled-again" }, el("h3", {}, say("ui.compiled.again", { id: graph })), change);
  }

  private guards(guards: readonly Guard[], count: number): HTMLElement {
    const { say } = this;
    const rows = guards.slice(0, GUARDS_SHOWN).map(({ what, source, scope, text }) =>
      el(
        "li",
        {},
        el("code", { title: scope === null ? "" : say(`ui.compiled.scope.${scope}`) }, source),
        el("span", { class: "mute" }, say(`ui.compiled.guard.${what}`)),
        el("span", { class: "guard-text" }, text),
      ),
    );
    const rest = count - rows.length;
    if (rest > 0) rows.push(el("li", { class: "mute" }, say("ui.compiled.other-guards", { n: rest })));
    return el("section", { class: "compiled-guards" }, el("h3", {}, say("ui.compiled.guards", { n: count })), el("ul", {}, ...rows));
  }
}

function row(name: string, ...content: Child[]): HTMLElement {
  return el("div", {}, el("dt", {}, name), el("dd", {}, ...content));
}

function chipWords(facts: Compiled["facts"], say: Say): Child[] {
  const part = facts.resumes && facts.line !== null ? say("ui.compiled.from", { line: facts.line }) : "";
  const signs = `${facts.recompiled.length > 0 ? "↻" : ""}${facts.breaks.length > 0 ? "✂" : ""}`;
  return [
    el("code", {}, facts.function),
    part === "" ? null : el("span", { class: "mute" }, part),
    el("span", { class: "mute" }, facts.id),
    signs === "" ? null : el("span", { "aria-hidden": "true" }, signs),
  ];
}
