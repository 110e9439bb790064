/**
 * What `torch.compile` did, beside the autograd graph: a switch in that card, only where something was compiled.
 *
 * The panel itself is loaded when it is first shown.
 */
import { compilationsOf } from "../model/compilations";
import type { Extra, Feature, Stage } from "../stage";
import { styled } from "../styles";
import { el } from "../views/dom";
import type { CompiledPanel } from "./compiled-panel";

type Shown = "graph" | "compiled";

/** What the reader chose last, on this page. */
let chosen: Shown | null = null;

export const COMPILED: Feature = (stage) => {
  const graph = stage.root.querySelector<HTMLElement>(".player-figures > .player-graph");
  const compilations = compilationsOf(stage.trace);
  return graph === null || compilations.length === 0 ? null : new Switch(stage, graph);
};

class Switch implements Extra {
  private readonly card: HTMLElement;
  private panel: CompiledPanel | null = null;
  private step = 0;

  constructor(
    private readonly stage: Stage,
    private readonly graph: HTMLElement,
  ) {
    void styled("compiled");
    const title = stage.messages.text("ui.compiled.title");
    this.card = el("section", { class: "card player-compiled", "aria-label": title });
    graph.after(this.card);
    graph.querySelector("header > h2")?.after(this.buttons("graph"));
    this.choose(chosen ?? "compiled");
  }

  show({ step }: { readonly step: number }): void {
    this.step = step;
    this.panel?.show(step);
  }

  private choose(shown: Shown): void {
    const compiled = shown === "compiled";
    this.card.hidden = !compiled;
    this.graph.hidden = compiled;
    this.graph.parentElement?.classList.toggle("shows-compiled", compiled);
    if (compiled && this.panel === null) void this.load();
  }

  private async load(): Promise<void> {
    const [{ CompiledPanel }] = await Promise.all([import("./compiled-panel"), styled("compiled")]);
    if (this.panel !== null) return;
    this.panel = new CompiledPanel(this.stage, this.buttons("compiled"));
    this.card.replaceChildren(...this.panel.parts);
    this.panel.show(this.step);
  }

  /** The switch, as it stands in either card. */
  private buttons(here: Shown): HTMLElement {
    const say = this.stage.messages.text;
    const group = el("div", { class: "segments compiled-switch", role: "group", "aria-label": say("ui.compiled.switch") });
    for (const name of ["graph", "compiled"] as const) {
      const label = say(name === "graph" ? "ui.compiled.autograd" : "ui.compiled.title");
      const button = el("button", { type: "button", "aria-pressed": String(name === here) }, label);
      button.addEventListener("click", () => {
        if (name === here) return;
        chosen = name;
        this.choose(name);
        const other = name === "compiled" ? this.card : this.graph;
        other.querySelector<HTMLElement>(".compiled-switch [aria-pressed='true']")?.focus();
      });
      group.append(button);
    }
    return group;
  }
}
