/**
 * The graph folded: modules, long rows of one kind and stretches of a program as one box each, that opens where it
 * stands.
 *
 * All coordinates come from Python (`app/drawing/folded.py`); an open box makes room as `layout/nesting.ts` says. Its
 * left top corner stays under the reader's eyes. Opening and closing are the only acts that move boxes: steps do not.
 */
import { HEAD, nest, type Frame, type Nested } from "../layout/nesting";
import type { NodeFacts } from "../layout/graph";
import type { Focus, State } from "../model/state";
import type { FoldDrawing, FoldedDrawing } from "../schema/trace.gen";
import type { Extra, Feature, Stage } from "../stage";
import type { AutogradView } from "../views/autograd";
import { el } from "../views/dom";
import { Glide } from "./glide";
import { graphAmong } from "./parts";

/** Boxes above which a graph is folded at first. */
const MANY = 40;

export const FOLDS: Feature = (stage, views) => {
  const graph = graphAmong(views);
  const frame = stage.root.querySelector<HTMLElement>(".graph-frame");
  const folded = stage.trace.graph?.folded;
  return graph === undefined || frame === null || folded == null ? null : new Folds(stage, graph, frame, folded);
};

class Folds implements Extra {
  private readonly say = (id: string, args?: Record<string, unknown>): string => this.stage.messages.text(id, args);
  private readonly folds: ReadonlyMap<number, FoldDrawing>;
  private readonly opened = el("nav", { class: "fold-path", hidden: true });
  private readonly button: HTMLButtonElement;
  private readonly flat: ReadonlySet<number>;
  private readonly whole: ReadonlySet<number>;
  private readonly glide: Glide;
  private isFolded = false;
  private readonly open = new Set<number>();
  private frames: readonly Frame[] = [];
  private last: readonly [State, Focus] | null = null;

  constructor(
    private readonly stage: Stage,
    private readonly graph: AutogradView,
    frame: HTMLElement,
    private readonly folded: FoldedDrawing,
  ) {
    this.folds = new Map(folded.folds.map((fold) => [fold.id, fold]));
    this.flat = graph.drawn;
    this.glide = new Glide(graph);
    graph.members = (box) => (box > 0 ? [box] : (this.folds.get(-box)?.members ?? []));
    graph.facts = new Map<number, NodeFacts>([...graph.facts, ...folded.folds.map((fold) => [-fold.id, this.factsOf(fold)] as const)]);
    this.whole = new Set(folded.nodes.flatMap(({ node }) => graph.members(node)));
    this.button = el("button", { type: "button", class: "fold-button", title: this.say("ui.fold.hint") }, this.say("ui.fold.button"));
    this.button.addEventListener("click", () => this.fold(!this.isFolded));
    stage.root.querySelector(".graph-buttons")?.prepend(this.button);
    this.opened.setAttribute("aria-label", this.say("ui.fold.path"));
    frame.append(this.opened);
    frame.addEventListener("click", (event) => this.clicked(event), { capture: true });
    const drawn = stage.trace.graph;
    if (drawn !== null && (drawn.omitted > 0 || drawn.nodes.length > MANY)) this.fold(true);
    this.write();
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
    if (this.opens(-box.drawing.node)) this.change(-box.drawing.node, true);
  }

  /** What is too much to be drawn stays folded. */
  private opens(fold: number): boolean {
    return (this.folds.get(fold)?.nodes.length ?? 0) > 0;
  }

  private fold(folded: boolean): void {
    this.isFolded = folded;
    this.draw();
    this.shown();
  }

  private change(fold: number, opens: boolean): void {
    if (opens) this.open.add(fold);
    else this.open.delete(fold);
    this.glide.from(() => this.cornerOf(fold));
    this.draw();
    this.glide.to(() => this.cornerOf(fold));
    this.shown();
    const box = this.graph.boxes.find(({ drawing }) => drawing.node === -fold);
    (this.headOf(fold) ?? box?.root.querySelector<HTMLElement>(".node-title") ?? this.button).focus({ preventScroll: true });
  }

  private closeAll(): void {
    const [first] = this.frames;
    this.open.clear();
    if (first !== undefined) this.glide.from(() => first);
    this.draw();
    if (first !== undefined) this.glide.to(() => this.cornerOf(first.fold));
    this.shown();
    this.button.focus({ preventScroll: true });
  }

  /** Where a fold begins, open or not; for one that stands in a closed one, that. */
  private cornerOf(fold: number): { x: number; y: number } | undefined {
    for (let at = fold; at !== 0; at = this.folds.get(at)?.inside ?? 0) {
      const found = this.frames.find((frame) => frame.fold === at) ?? this.graph.boxes.find(({ drawing }) => drawing.node === -at)?.drawing;
      if (found !== undefined) return found;
    }
    return undefined;
  }

  private draw(): void {
    const { graph, folded, stage } = this;
    const flat = stage.trace.graph;
    if (flat === null) return;
    const nested: Nested = this.isFolded ? nest(folded, this.folds, this.open, this.joined) : { ...flat, frames: [] };
    this.frames = nested.frames;
    const { root } = graph.draw({ width: nested.width, height: nested.height, nodes: [...nested.nodes], edges: [...nested.edges] });
    graph.drawn = this.isFolded ? this.whole : this.flat;
    for (const box of graph.boxes) {
      const { node } = box.drawing;
      box.root.toggleAttribute("data-fold", node < 0);
      if (node > 0) continue;
      box.root.toggleAttribute("data-shut", !this.opens(-node));
      const title = box.root.querySelector(".node-title");
      if (this.opens(-node)) title?.setAttribute("aria-expanded", "false");
      else box.root.title = this.say("ui.fold.shut");
    }
    const picture = root.querySelector(".viewport-picture");
    for (const frame of [...this.frames].reverse()) picture?.prepend(placed("fold-frame", frame, frame.height));
    for (const frame of this.frames) this.addHead(frame);
  }

  /** The title of an open fold, before what is in it. */
  private addHead(frame: Frame): void {
    const fold = this.folds.get(frame.fold);
    const first = this.graph.boxes.find(({ drawing: { x, y } }) => x >= frame.x && x < frame.x + frame.width && y >= frame.y && y < frame.y + frame.height);
    if (fold === undefined || first === undefined) return;
    const facts = this.graph.facts.get(-fold.id);
    const button = el("button", { type: "button", "data-fold-head": fold.id, "aria-expanded": "true", title: this.say("ui.fold.close") }, el("b", {}, facts?.name ?? ""), el("span", {}, facts?.about ?? ""));
    button.addEventListener("click", () => this.change(fold.id, false));
    const head = placed("fold-head", frame, HEAD);
    head.append(button);
    first.root.before(head);
  }

  private headOf(fold: number): HTMLElement | null {
    return this.graph.viewport?.root.querySelector<HTMLElement>(`[data-fold-head="${fold}"]`) ?? null;
  }

  private readonly joined = (source: number, target: number): boolean => {
    const { facts } = this.graph;
    const targets = new Set(this.graph.members(target));
    return this.graph.members(source).some((node) => facts.get(node)?.event.next_functions.some(([next]) => next !== null && targets.has(next)) === true);
  };

  /** Shows every view and feature again: the boxes are others. */
  private shown(): void {
    this.write();
    if (this.last !== null) this.stage.root.dispatchEvent(new CustomEvent("pick", { detail: {} }));
  }

  /** What is open, each with a way to close it, for those whose title is out of sight. */
  private write(): void {
    this.button.setAttribute("aria-pressed", String(this.isFolded));
    this.opened.hidden = this.frames.length === 0;
    const item = (name: string, label: string, act: () => void): HTMLElement => {
      const button = el("button", { type: "button", class: "link", "aria-label": label, title: label }, name);
      button.addEventListener("click", act);
      return el("li", {}, button);
    };
    const items = this.frames.map(({ fold }) => {
      const name = this.graph.facts.get(-fold)?.name ?? "";
      return item(`${name} ×`, this.say("ui.fold.closeOne", { name }), () => this.change(fold, false));
    });
    if (items.length > 1) items.push(item(this.say("ui.fold.closeAll"), this.say("ui.fold.closeAll"), () => this.closeAll()));
    this.opened.replaceChildren(el("ul", {}, ...items));
  }

  private titleOf({ kind, label, class_name, members }: FoldDrawing): string {
    if (kind === "chain") return `${this.chainLength(members)} × ${label}`;
    if (kind === "lines") return label === "" ? this.say("ui.fold.nodes", { n: members.length }) : this.say("ui.fold.lines", { lines: label, n: label.includes("–") ? 2 : 1 });
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

function placed(className: string, { x, y, width }: Frame, height: number): HTMLElement {
  const box = el("div", { class: className });
  box.style.setProperty("left", `${x}px`);
  box.style.setProperty("top", `${y}px`);
  box.style.setProperty("width", `${width}px`);
  box.style.setProperty("height", `${height}px`);
  return box;
}
