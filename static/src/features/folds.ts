/**
 * The graph folded: modules and long rows of one kind as one box each, that opens into a picture of its inside.
 *
 * All pictures come from Python (`app/drawing/folded.py`). Opening one shows it in place of the other, with its
 * neighbours, so that no box ever moves; the path above the picture leads back.
 */
import type { FoldDrawing, FoldedDrawing, NodeDrawing, EdgeDrawing } from "../schema/trace.gen";
import type { Focus, State } from "../model/state";
import type { NodeFacts } from "../layout/graph";
import type { Extra, Feature, Stage } from "../stage";
import { AutogradView } from "../views/autograd";
import { el } from "../views/dom";

interface Picture {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly NodeDrawing[];
  readonly edges: readonly EdgeDrawing[];
  readonly outside?: readonly number[];
}

/** Boxes above which a graph is folded at first. */
const MANY = 40;

export const FOLDS: Feature = (stage, views) => {
  const graph = views.find((view) => view instanceof AutogradView);
  const frame = stage.root.querySelector<HTMLElement>(".graph-frame");
  const folded = stage.trace.graph?.folded;
  return graph === undefined || frame === null || folded == null ? null : new Folds(stage, graph, frame, folded);
};

class Folds implements Extra {
  private readonly say = (id: string, args?: Record<string, unknown>): string => this.stage.messages.text(id, args);
  private readonly folds: ReadonlyMap<number, FoldDrawing>;
  private readonly path = el("nav", { class: "fold-path" });
  private readonly button: HTMLButtonElement;
  private readonly flat: ReadonlySet<number>;
  /** The fold whose inside is shown; 0: the whole; null: nothing is folded. */
  private inside: number | null = null;
  private last: readonly [State, Focus] | null = null;

  constructor(
    private readonly stage: Stage,
    private readonly graph: AutogradView,
    frame: HTMLElement,
    private readonly folded: FoldedDrawing,
  ) {
    this.folds = new Map(folded.folds.map((fold) => [fold.id, fold]));
    this.flat = graph.drawn;
    graph.members = (box) => (box > 0 ? [box] : (this.folds.get(-box)?.members ?? []));
    graph.facts = new Map<number, NodeFacts>([...graph.facts, ...folded.folds.map((fold) => [-fold.id, this.factsOf(fold)] as const)]);
    this.button = el("button", { type: "button", class: "fold-button", title: this.say("ui.fold.hint") }, this.say("ui.fold.button"));
    this.button.addEventListener("click", () => this.open(this.inside === null ? 0 : null));
    stage.root.querySelector(".graph-buttons")?.prepend(this.button);
    this.path.setAttribute("aria-label", this.say("ui.fold.path"));
    frame.append(this.path);
    frame.addEventListener("click", (event) => this.clicked(event), { capture: true });
    const drawn = stage.trace.graph;
    this.open(drawn !== null && (drawn.omitted > 0 || drawn.nodes.length > MANY) ? 0 : null);
  }

  show(state: State, focus: Focus): void {
    this.last = [state, focus];
    for (const box of this.graph.boxes) {
      const fold = this.folds.get(-box.drawing.node);
      if (fold === undefined) continue;
      const stale = fold.members.some((node) => state.nodes.get(node)?.saved.some((slot) => slot.stale) === true);
      box.root.toggleAttribute("data-stale", stale);
    }
  }

  private clicked(event: MouseEvent): void {
    const target = event.target instanceof Element ? event.target.closest(".node") : null;
    const box = target === null ? undefined : this.graph.boxes.find(({ root }) => root === target);
    if (box === undefined || box.drawing.node > 0) return;
    event.stopPropagation();
    this.open(-box.drawing.node, true);
  }

  private open(inside: number | null, byReader = false): void {
    const { graph, folded, stage } = this;
    const had = this.inside !== inside;
    this.inside = inside;
    const picture: Picture | null = inside === null ? stage.trace.graph : inside === 0 ? folded : (this.folds.get(inside) ?? null);
    if (picture === null || !had) {
      this.write();
      return;
    }
    graph.draw({ width: picture.width, height: picture.height, nodes: [...picture.nodes], edges: [...picture.edges] });
    graph.drawn = inside === null ? this.flat : new Set([...graph.facts.keys()].filter((id) => inside !== 0 || this.standsFor(id)));
    for (const box of graph.boxes) {
      box.root.toggleAttribute("data-fold", box.drawing.node < 0);
      box.root.toggleAttribute("data-outside", picture.outside?.includes(box.drawing.node) === true);
    }
    this.write();
    // Shows every view and feature again: the boxes are others.
    if (this.last !== null) stage.root.dispatchEvent(new CustomEvent("pick", { detail: {} }));
    if (byReader) (this.path.querySelector<HTMLElement>("[aria-current]") ?? this.button).focus();
  }

  private standsFor(node: number): boolean {
    return this.shown.has(node);
  }

  private get shown(): ReadonlySet<number> {
    return (this.known ??= new Set(this.folded.nodes.flatMap(({ node }) => this.graph.members(node))));
  }

  private known: ReadonlySet<number> | undefined;

  /** The way from the whole to what is shown. */
  private write(): void {
    const { inside } = this;
    this.button.setAttribute("aria-pressed", String(inside !== null));
    this.path.hidden = inside === null || inside === 0;
    const way: number[] = [];
    for (let at = inside ?? 0; at !== 0; at = this.folds.get(at)?.inside ?? 0) way.unshift(at);
    const items = [0, ...way].map((id) => {
      const fold = this.folds.get(id);
      const name = fold === undefined ? this.say("ui.fold.whole") : this.titleOf(fold);
      const button = el("button", { type: "button", class: "link", "aria-current": id === inside ? "true" : null }, name);
      button.addEventListener("click", () => this.open(id, true));
      return el("li", {}, button);
    });
    this.path.replaceChildren(el("ol", {}, ...items));
  }

  private titleOf({ kind, label, class_name, members }: FoldDrawing): string {
    if (kind === "chain") return `${this.chainLength(members)} × ${label}`;
    return label === "" ? class_name : label;
  }

  private chainLength(members: readonly number[]): number {
    return members.filter((id) => this.graph.facts.get(id)?.leaf === false).length;
  }

  private factsOf(fold: FoldDrawing): NodeFacts {
    const { members, class_name, label, id } = fold;
    const about = this.say(class_name === "" || label === "" ? "ui.fold.nodes" : "ui.fold.about", { kind: class_name, n: members.length });
    const step = Math.min(...members.map((node) => this.graph.facts.get(node)?.step ?? Infinity));
    const event = { kind: "node" as const, id: -id, name: 0, line: null, next_functions: [], variable: null, saved: [], modules: [] };
    return { id: -id, name: this.titleOf(fold), plain: null, line: null, leaf: false, leafName: null, event, step, about };
  }
}
