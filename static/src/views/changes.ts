/**
 * What a step changed: one row per layer, and what was noticed there.
 *
 * The rows are also the message of a live region, so that stepping can be heard. `brief.ts` shows them in a
 * small place, `tabs.ts` on a page.
 */
import { gapAfter, together, type Messages } from "../model/messages";
import type { Outline } from "../model/outline";
import { toldOf } from "../model/told";
import type { Sentence, Trace } from "../schema/trace.gen";
import { el } from "./dom";
import { layerIcon } from "./icons";
import { sentence, sentences as inTurn } from "./sentence";

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
    const spoken = this.spoken(step);
    if (this.live.textContent !== spoken) this.live.textContent = spoken;
  }

  private spoken(number: number): string {
    const step = this.outline.steps[number - 1];
    if (step === undefined) return this.messages.text("ui.step.before");
    const say = ({ id, args }: Sentence): string => this.messages.text(id, args);
    const { layers, error, compiled, names, notes } = toldOf(this.trace, this.outline, number);
    const said = layers.map(({ layer, sentences }) => {
      const words = sentences.length > 0 ? together(sentences.map(say)) : this.messages.text("ui.changes.none");
      return this.labelled(this.messages.text(`ui.layer.${layer}`), words);
    });
    const place = this.messages.text("ui.step.of", { step: number, steps: this.outline.steps.length });
    const first = error.length === 0 ? "" : this.labelled(this.messages.text("ui.changes.error"), together(error.map(say)));
    const begin = this.messages.text("ui.changes.begin", { place, code: step.text });
    return together([begin, first, ...compiled.map(say), ...said, ...[...names, ...notes].map(say)]);
  }

  private labelled(label: string, text: string): string {
    return this.messages.text("list.label", { label, text });
  }

  /** The rows. */
  list(step: number): HTMLElement {
    const lit = this.outline.steps[step - 1]?.lamps ?? [];
    const list = el("ul", { class: "changes" });
    const { layers, error, compiled, names, notes } = toldOf(this.trace, this.outline, step);
    for (const { layer, sentences } of layers) {
      const on = lit.includes(layer);
      if (this.brief && !on) continue;
      const words = sentences.flatMap((each, i) => {
        const parts = this.messages.parts(each.id, each.args);
        return [el("span", {}, ...sentence(parts)), i === sentences.length - 1 ? "" : gapAfter(parts.at(-1)?.text ?? "")];
      });
      const name = el("strong", { class: "change-layer" }, this.messages.text(`ui.layer.${layer}`));
      const said = words.length > 0 ? words : [this.messages.text("ui.changes.none")];
      const mark = on ? layerIcon(layer) : el("span", { class: "lamp-off" });
      list.append(el("li", { class: on ? "change" : "change unchanged" }, mark, name, el("p", {}, ...said)));
    }
    if (this.brief && list.children.length === 0) {
      const text = this.messages.text(step === 0 ? "ui.step.before" : "ui.changes.nothing");
      list.append(el("li", { class: "change unchanged" }, el("span", { class: "lamp-off" }), el("p", {}, text)));
    }
    if (compiled.length > 0) list.prepend(this.remark("compiled", "", compiled));
    if (error.length > 0) list.prepend(this.remark("error", "✕", error));
    if (names.length > 0 && !this.brief) list.append(this.remark("names", "", names));
    for (const note of notes) list.append(this.remark("note", "!", [note]));
    return list;
  }

  private remark(kind: string, sign: string, sentences: readonly Sentence[]): HTMLElement {
    const name = el("strong", { class: "change-layer" }, this.messages.text(`ui.changes.${kind}`));
    const mark = el("span", { class: "remark-sign", "aria-hidden": "true" }, sign);
    return el("li", { class: `change remark remark-${kind}` }, mark, name, el("p", {}, ...inTurn(this.messages, sentences)));
  }
}
