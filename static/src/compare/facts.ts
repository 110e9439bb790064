/** What differs between the two sides now, layer by layer; what began to differ just now stands out. */
import { together, type Messages } from "../model/messages";
import type { Difference } from "./differences";
import { LAYERS } from "../model/state";
import { el } from "../views/dom";
import { layerIcon } from "../views/icons";
import { sentence } from "../views/sentence";

/** Facts of one layer that are told in full. */
const SHOWN = 8;

export class FactsView {
  readonly element = el("div", { class: "compare-facts", role: "region", tabindex: 0 });
  private readonly live = el("p", { class: "visually-hidden", "aria-live": "polite" });
  private readonly list = el("ul", { class: "changes" });

  constructor(private readonly messages: Messages) {
    this.element.setAttribute("aria-label", messages.text("ui.compare.differences"));
    this.element.append(this.list, this.live);
  }

  show(all: readonly Difference[], fresh: readonly Difference[], place: string): void {
    const isFresh = new Set(fresh);
    const rows = [null, ...LAYERS].map((layer) => {
      const facts = all.filter((each) => each.layer === layer);
      const sorted = [...facts.filter((each) => isFresh.has(each)), ...facts.filter((each) => !isFresh.has(each))];
      return { layer, facts: sorted };
    });
    this.list.replaceChildren(...rows.flatMap(({ layer, facts }) => (layer === null && facts.length === 0 ? [] : [this.row(layer, facts, isFresh)])));
    this.element.scrollTop = 0;
    const said = fresh.map(({ id, args }) => this.messages.text(id, args));
    const words = together([place, ...(said.length > 0 ? said : [this.messages.text(all.length > 0 ? "ui.compare.nothing-new" : "ui.compare.nothing")])]);
    if (this.live.textContent !== words) this.live.textContent = words;
  }

  private row(layer: Difference["layer"], facts: readonly Difference[], fresh: ReadonlySet<Difference>): HTMLElement {
    const on = facts.some((each) => fresh.has(each));
    const name = this.messages.text(layer === null ? "ui.changes.names" : `ui.layer.${layer}`);
    const mark = layer !== null && facts.length > 0 ? layerIcon(layer) : el("span", { class: "lamp-off" });
    const words = facts.slice(0, SHOWN).map((each) => {
      return el("span", { class: fresh.has(each) ? "fact fresh" : "fact" }, ...sentence(this.messages.parts(each.id, each.args)), this.messages.text("list.pause").slice(1));
    });
    if (facts.length > SHOWN) words.push(el("span", { class: "fact" }, this.messages.text("ui.compare.more", { count: facts.length - SHOWN })));
    const said = words.length > 0 ? words : [this.messages.text("ui.compare.same")];
    return el("li", { class: facts.length > 0 ? `change${on ? " now" : ""}` : "change unchanged" }, mark, el("strong", { class: "change-layer" }, name), el("p", {}, ...said));
  }
}
