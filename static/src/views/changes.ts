/**
 * What a step changed: one row per layer, and what was noticed there.
 *
 * The rows are also the message of a live region, so that stepping can be heard. `brief.ts` shows them in a
 * small place, `tabs.ts` on a page.
 */
import type { Messages } from "../model/messages";
import type { Outline } from "../model/outline";
import { LAYERS, type Layer } from "../model/state";
import type { Sentence, Trace } from "../schema/trace.gen";
import { el } from "./dom";
import { layerIcon } from "./icons";
import { sentence } from "./sentence";

/** The rows of a step, and the same as words for the ear. */
export class Changes {
  readonly live = el("p", { class: "visually-hidden", "aria-live": "polite", role: "status" });

  constructor(
    private readonly trace: Trace,
    private readonly outline: Outline,
    private readonly messages: Messages,
    /** Only the layers that changed: for small places. */
    private readonly brief: boolean,
  ) {}

  /** Lets it be heard what a step did. */
  speak(step: number): void {
    const said = this.rows(step).flatMap(({ layer, sentences }) => {
      const words = sentences.map((each) => this.messages.text(each.id, each.args));
      return `${this.messages.text(`ui.layer.${layer}`)}: ${words.join(" ")}`;
    });
    const place = this.messages.text("ui.step.of", { step, steps: this.outline.steps.length });
    const { error } = this.beside(step);
    const why = error.map((each) => this.messages.text(each.id, each.args));
    const spoken = [place, this.outline.steps[step - 1]?.text ?? "", ...why, ...said].join(". ");
    if (this.live.textContent !== spoken) this.live.textContent = spoken;
  }

  /** The rows. */
  list(step: number): HTMLElement {
    const lit = this.outline.steps[step - 1]?.lamps ?? [];
    const list = el("ul", { class: "changes" });
    for (const { layer, sentences } of this.rows(step)) {
      const on = lit.includes(layer);
      if (this.brief && !on) continue;
      const words = sentences.flatMap((each) => [el("span", {}, ...sentence(this.messages.parts(each.id, each.args))), " "]);
      const name = el("strong", { class: "change-layer" }, this.messages.text(`ui.layer.${layer}`));
      const said = words.length > 0 ? words : [this.messages.text("ui.changes.none")];
      const mark = on ? layerIcon(layer) : el("span", { class: "lamp-off" });
      list.append(el("li", { class: on ? "change" : "change unchanged" }, mark, name, el("p", {}, ...said)));
    }
    if (this.brief && list.children.length === 0) {
      const text = this.messages.text(step === 0 ? "ui.step.before" : "ui.changes.nothing");
      list.append(el("li", { class: "change unchanged" }, el("span", { class: "lamp-off" }), el("p", {}, text)));
    }
    const { error, names, notes } = this.beside(step);
    if (error.length > 0) list.prepend(this.remark("error", "✕", error));
    if (names.length > 0 && !this.brief) list.append(this.remark("names", "", names));
    for (const note of notes) list.append(this.remark("note", "!", [note]));
    return list;
  }

  /** What is said of a step beside its layers: why it failed, what its names did, what was noticed. */
  private beside(step: number): Record<"error" | "names" | "notes", readonly Sentence[]> {
    const here = this.outline.steps[step - 1];
    const last = here?.raised === true && step === this.outline.steps.length;
    return {
      error: last ? (this.trace.explanation?.sentences ?? []) : [],
      names: this.said(step).filter((each) => each.layer === null),
      notes: this.trace.notes.filter((note) => note.line === here?.line).map((note) => note.sentence),
    };
  }

  private remark(kind: string, sign: string, sentences: readonly Sentence[]): HTMLElement {
    const name = el("strong", { class: "change-layer" }, this.messages.text(`ui.changes.${kind}`));
    const said = sentences.flatMap((each) => [...sentence(this.messages.parts(each.id, each.args)), " "]);
    const mark = el("span", { class: "remark-sign", "aria-hidden": "true" }, sign);
    return el("li", { class: `change remark remark-${kind}` }, mark, name, el("p", {}, ...said));
  }

  private said(step: number): readonly Sentence[] {
    const numbers = this.trace.said[step - 1] ?? [];
    return numbers.flatMap((number) => this.trace.sentences[number] ?? []);
  }

  private rows(step: number): { layer: Layer; sentences: readonly Sentence[] }[] {
    const sentences = this.said(step);
    return LAYERS.map((layer) => ({ layer, sentences: sentences.filter((each) => each.layer === layer) }));
  }
}
