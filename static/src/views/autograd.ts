/**
 * The autograd graph: boxes at the coordinates of the trace, revealed step by step, never moved.
 *
 * Gradients flow along the arrows, from the loss to the leaves on the left. Boxes are elements with
 * text; only the edges are SVG. `List` says the same in words.
 */
import { storageColours } from "../layout/devices";
import { edgePath, nodesOf, type NodeFacts } from "../layout/graph";
import { livesOf } from "../layout/lives";
import type { Focus, State } from "../model/state";
import type { EdgeDrawing, GraphDrawing, Trace } from "../schema/trace.gen";
import { el, svg, write } from "./dom";
import { describe, NodeBox } from "./node";
import { goTo, pick, type Say, type View } from "./view";
import { Viewport } from "./viewport";

export interface EdgePicture {
  readonly drawing: EdgeDrawing;
  readonly path: SVGPathElement;
  readonly head: SVGPathElement;
  readonly step: number;
}

const HEAD = 9; // length of an arrowhead
/** Nodes in the list, the newest; how many more there are is said. */
const MOST_LISTED = 400;

export class AutogradView implements View {
  private readonly warning = el("button", { type: "button", class: "pill pill-warning" });
  private readonly list = el("ol", { class: "node-list" });
  private readonly next = el("button", { type: "button", class: "reveal", hidden: true });
  private readonly empty = el("p", { class: "graph-empty" });
  /** How many nodes that exist now have no box: a graph can be too large to draw. */
  private readonly omitted = el("span", { class: "small omitted", hidden: true });
  facts: ReadonlyMap<number, NodeFacts> = new Map();
  boxes: readonly NodeBox[] = [];
  edges: readonly EdgePicture[] = [];
  viewport: Viewport | null = null;
  colours: ReadonlyMap<number, number> = new Map();
  /** Nodes that a box stands for: itself, unless a feature folds them. */
  members: (box: number) => readonly number[] = (box) => [box];
  drawn: ReadonlySet<number> = new Set();
  /** Hears of moves of the picture. */
  moved: () => void = () => undefined;
  /** Nodes whose gradients an edge brings to a box. */
  private arriving = new Map<NodeBox, readonly number[]>();
  private state: State | null = null;
  private asList = false;
  private say: Say = String;

  mount(root: HTMLElement, trace: Trace, say: Say): void {
    this.say = say;
    this.facts = nodesOf(trace);
    root.classList.add("graph");
    const title = el("h2", {}, say("ui.graph.title"));
    const header = el("header", {}, title, el("span", { class: "space" }));
    root.replaceChildren(header, this.empty);
    this.empty.hidden = trace.graph !== null;
    if (trace.graph === null) {
      this.empty.textContent = say(noGraph(trace));
      return;
    }
    title.after(el("span", { class: "small mute graph-hint", title: say("ui.graph.hint") }, say("ui.graph.hint")), this.omitted);
    this.warning.hidden = true;
    header.append(this.warning, this.buttons(root));
    this.colours = storageColours(livesOf(trace));
    const viewport = this.draw(trace.graph);
    this.drawn = new Set(trace.graph.nodes.map(({ node }) => node));
    const frame = el("div", { class: "graph-frame" }, viewport.root, this.next);
    root.append(frame, this.list);
    this.warning.addEventListener("click", () => this.revealWhere((box) => box.root.classList.contains("stale")));
    this.next.addEventListener("click", () => this.revealWhere((box) => box.drawing.step === this.state?.step));
  }

  show(state: State, focus: Focus): void {
    this.state = state;
    const flowed = gradientsFlowed(state);
    const flowing = (id: number): boolean => this.members(id).some((node) => flowed.has(node));
    for (const box of this.boxes) {
      const id = box.drawing.node;
      const [now] = this.members(id).flatMap((node) => state.nodes.get(node) ?? []);
      // A leaf is drawn again for every round of a loop: gradients arrive at the box that an edge of theirs leads to.
      const flows = flowing(id) && (!box.leaf || (this.arriving.get(box) ?? []).some(flowing));
      box.show(state, focus, state.step >= box.drawing.step && now !== undefined ? (id > 0 ? now : { ...now, saved: [] }) : null, flows);
    }
    for (const edge of this.edges) this.showEdge(edge, state, flowing);
    const stale = [...state.nodes.values()].reduce((n, node) => n + node.saved.filter((slot) => slot.stale).length, 0);
    this.warning.hidden = stale === 0;
    write(this.warning, `⚠ ${this.say("ui.graph.stale", { n: stale })}`);
    const undrawn = [...state.nodes.keys()].filter((id) => !this.drawn.has(id)).length;
    this.omitted.hidden = undrawn === 0;
    write(this.omitted, undrawn === 0 ? "" : this.say("ui.graph.omitted", { n: undrawn }));
    if (this.asList) this.writeList();
    const latest = this.boxes.findLast((box) => box.drawing.step <= state.step && !box.leaf);
    this.viewport?.follow(latest?.drawing ?? null);
    this.offerNext();
  }

  /** Draws a picture in place of the one before. */
  draw(graph: Pick<GraphDrawing, "width" | "height" | "nodes" | "edges">): Viewport {
    const picture = el("div", {});
    picture.style.setProperty("width", `${graph.width}px`);
    picture.style.setProperty("height", `${graph.height}px`);
    const lines = svg("svg", { class: "edges", width: graph.width, height: graph.height, "aria-hidden": "true" });
    const steps = new Map(graph.nodes.map((node) => [node.node, node.step]));
    this.edges = graph.edges.map((drawing) => {
      const path = svg("path", { d: edgePath(drawing, HEAD - 2), class: "edge" });
      const head = svg("path", { d: arrowhead(drawing), class: "edge-head" });
      lines.append(path, head);
      const step = Math.max(steps.get(drawing.source) ?? 0, steps.get(drawing.target) ?? 0);
      return { drawing, path, head, step };
    });
    // Tab goes from node to node in the order they are made.
    const inOrder = [...graph.nodes].sort((a, b) => a.step - b.step || a.x - b.x || a.y - b.y);
    this.boxes = inOrder.flatMap((drawing) => {
      const facts = this.facts.get(drawing.node);
      return facts === undefined ? [] : [new NodeBox(drawing, facts, this.colours, this.say)];
    });
    this.arriving = new Map(this.boxes.map((box) => [box, sourcesOf(box, graph)]));
    picture.append(lines, ...this.boxes.map((box) => box.root));
    const before = this.viewport?.root;
    const viewport = new Viewport(picture, graph, `${this.say("ui.graph.title")}. ${this.say("ui.graph.pan")}`, () => {
      this.offerNext();
      this.moved();
    });
    this.viewport = viewport;
    before?.replaceWith(viewport.root);
    viewport.root.addEventListener("focusin", (event) => {
      const box = this.boxes.find((each) => event.target instanceof Element && each.root.contains(event.target));
      if (box !== undefined && box.root.matches(":has(:focus-visible)")) viewport.reveal(box.drawing);
    });
    return viewport;
  }

  private showEdge({ drawing, path, head, step }: EdgePicture, state: State, flowing: (id: number) => boolean): void {
    const future = state.step < step;
    const gone = !future && !this.members(drawing.source).some((node) => state.nodes.has(node));
    const flow = !future && flowing(drawing.source) && flowing(drawing.target);
    const kind = future ? " future" : gone ? " gone" : flow ? " flowing" : "";
    if (path.getAttribute("class") === `edge${kind}`) return;
    path.setAttribute("class", `edge${kind}`);
    head.setAttribute("class", `edge-head${kind}`);
  }

  private buttons(root: HTMLElement): HTMLElement {
    const { say } = this;
    const mode = el("div", { class: "segments", role: "group", "aria-label": say("ui.graph.layout") });
    const choose = (chosen: string): void => {
      this.asList = chosen === "list";
      root.classList.toggle("as-list", this.asList);
      for (const button of mode.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset["mode"] === chosen));
      if (this.asList) this.writeList();
    };
    for (const name of ["picture", "list"]) {
      const button = el("button", { type: "button", "data-mode": name }, say(`ui.graph.${name}`));
      button.addEventListener("click", () => choose(name));
      mode.append(button);
    }
    choose("picture");
    const zoom = el("div", { class: "segments zoom" });
    const add = (label: string, text: string, act: () => void): void => {
      const button = el("button", { type: "button", title: say(label) }, text);
      // A word on the button is its name; a sign needs one.
      if (text.length === 1) button.setAttribute("aria-label", say(label));
      button.addEventListener("click", act);
      zoom.append(button);
    };
    add("ui.graph.zoomOut", "−", () => this.viewport?.zoom(-1));
    add("ui.graph.fitLabel", say("ui.graph.fit"), () => this.viewport?.fitAll());
    add("ui.graph.zoomIn", "+", () => this.viewport?.zoom(1));
    return el("div", { class: "graph-buttons" }, zoom, mode);
  }

  private revealWhere(wanted: (box: NodeBox) => boolean): void {
    const box = this.boxes.find(wanted);
    if (box !== undefined) this.viewport?.reveal(box.drawing);
  }

  /** A way to the node this step made, when the window does not show it: the picture never moves by itself. */
  private offerNext(): void {
    const { state, viewport } = this;
    const made = this.boxes.filter((box) => box.drawing.step === state?.step && !box.leaf);
    const box = made.at(-1);
    const hidden = box === undefined || viewport === null || !viewport.hides(box.drawing);
    this.next.hidden = hidden;
    if (!hidden && box !== undefined) this.next.textContent = `${this.facts.get(box.drawing.node)?.name ?? ""} →`;
  }

  private writeList(): void {
    const { state, say } = this;
    if (state === null) return;
    const items = [...this.facts.values()].filter((facts) => facts.step <= state.step && state.nodes.has(facts.id));
    const left = items.length - MOST_LISTED;
    this.list.replaceChildren(
      ...(left > 0 ? [el("li", { class: "mute" }, say("ui.graph.omitted", { n: left }))] : []),
      ...items.slice(-MOST_LISTED).map((facts) => {
        const targets = facts.event.next_functions.flatMap(([id]) => (id === null ? [] : this.titleOf(id)));
        const button = el("button", { type: "button" }, describe(facts, state.nodes.get(facts.id) ?? null, state, say));
        button.addEventListener("click", () => pick(button, { node: facts.id }));
        const step = el("button", { type: "button", class: "list-step" }, facts.line === null ? "" : say("ui.graph.line", { line: facts.line }));
        step.addEventListener("click", () => goTo(step, facts.step));
        const flows = targets.length === 0 ? null : el("span", { class: "mute" }, say("ui.graph.flows", { names: targets }));
        return el("li", {}, button, flows, step);
      }),
    );
  }

  private titleOf(id: number): string[] {
    const facts = this.facts.get(id);
    return facts === undefined ? [] : [facts.leafName ?? facts.name];
  }
}

function sourcesOf({ drawing }: NodeBox, graph: Pick<GraphDrawing, "edges">): number[] {
  const { x, y, width, height } = drawing;
  return graph.edges.flatMap(({ source, target, points }) => {
    const [endX, endY] = points.at(-1) ?? [-1, -1];
    const ends = endX >= x - 2 && endX <= x + width + 2 && endY >= y - 2 && endY <= y + height + 2;
    return target === drawing.node && ends ? [source] : [];
  });
}

/**
 * Nodes that gradients passed in this step: those that ran ops, and what lies between them and the leaves
 * that have a gradient. A node that only hands on what it gets runs no op.
 */
function gradientsFlowed(state: State): ReadonlySet<number> {
  const ran = new Set(state.ops.flatMap((op) => op.node ?? []));
  const flowed = new Set<number>();
  if (ran.size === 0) return flowed;
  const next = (id: number): number[] => state.nodes.get(id)?.nextFunctions.flatMap(([to]) => to ?? []) ?? [];
  const starts = [...state.nodes].flatMap(([id, { name }]) => (ran.has(name) ? [id] : []));
  // What a node leads to comes before it; a chain may be deeper than calls can be nested.
  const arrives = new Map<number, boolean>();
  const met = new Set<number>();
  for (const waiting = [...starts]; waiting.length > 0; ) {
    const id = waiting.at(-1) ?? 0;
    const ahead = met.has(id) ? [] : next(id).filter((to) => !met.has(to));
    met.add(id);
    waiting.push(...ahead);
    if (ahead.length > 0) continue;
    waiting.pop();
    const node = state.nodes.get(id);
    const leaf = node?.variable == null ? undefined : state.tensors.get(node.variable);
    const found = leaf === undefined ? node !== undefined && (ran.has(node.name) || next(id).some((to) => arrives.get(to))) : leaf.grad !== null;
    if (!arrives.has(id)) arrives.set(id, found);
  }
  for (const waiting = starts; waiting.length > 0; ) {
    const id = waiting.pop() ?? 0;
    if (flowed.has(id) || arrives.get(id) !== true) continue;
    flowed.add(id);
    waiting.push(...next(id));
  }
  return flowed;
}

/** A filled triangle at the end of an edge, pointing where the edge goes. */
function arrowhead({ points }: EdgeDrawing): string {
  const tip = points.at(-1);
  const before = points.at(-2);
  if (tip === undefined || before === undefined) return "";
  const length = Math.hypot(tip[0] - before[0], tip[1] - before[1]) || 1;
  const [dx, dy] = [(tip[0] - before[0]) / length, (tip[1] - before[1]) / length];
  const corner = (side: number): string => `${tip[0] - dx * HEAD - dy * side} ${tip[1] - dy * HEAD + dx * side}`;
  return `M${tip[0]} ${tip[1]}L${corner(5)}L${corner(-5)}z`;
}

/** Why there is no graph: nothing ran, nothing requires grad, or nothing was done that is recorded. */
function noGraph({ steps, views }: Trace): string {
  if (steps.length === 0) return "ui.graph.none-ran";
  return views.some((view) => view.requires_grad) ? "ui.graph.none-recorded" : "ui.graph.none";
}
