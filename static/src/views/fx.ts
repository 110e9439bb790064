/**
 * One FX graph: a box per node at the coordinates of the trace, inputs left, results right.
 *
 * A box says what is called and what came of it; it marks its line of the program while it is pointed at.
 * `list` says the same as lines of code.
 */
import { edgePath } from "../layout/graph";
import { lineRange, type DrawnGraph } from "../model/compilations";
import type { FxGraph } from "../schema/trace.gen";
import { el, svg } from "./dom";
import { pointAt, type Say } from "./view";
import { Viewport } from "./viewport";

type FxNode = FxGraph["nodes"][number];

const HEAD = 8;

/** The picture of a graph, or null when it was too large to be drawn. */
export function fxPicture({ graph, drawing }: DrawnGraph, lines: readonly string[], say: Say): HTMLElement | null {
  if (drawing === null) return null;
  const picture = el("div", {});
  picture.style.setProperty("width", `${drawing.width}px`);
  picture.style.setProperty("height", `${drawing.height}px`);
  const edges = svg("svg", { class: "edges fx-edges", width: drawing.width, height: drawing.height, "aria-hidden": "true" });
  for (const edge of drawing.edges) {
    edges.append(svg("path", { d: edgePath(edge, HEAD - 2), class: "fx-edge" }), svg("path", { d: head(edge.points), class: "fx-head" }));
  }
  const boxes = drawing.nodes.flatMap((place) => {
    const node = graph.nodes[place.node];
    if (node === undefined) return [];
    const box = nodeButton(node, lines, say);
    box.append(el("span", { class: "fx-title" }, titleOf(node)), el("span", { class: "fx-result" }, resultOf(node)));
    box.style.setProperty("left", `${place.x}px`);
    box.style.setProperty("top", `${place.y}px`);
    box.style.setProperty("width", `${place.width}px`);
    box.style.setProperty("height", `${place.height}px`);
    return [{ box, place }];
  });
  picture.append(edges, ...boxes.map(({ box }) => box));
  const viewport = new Viewport(picture, drawing, `${say("ui.compiled.graph")}. ${say("ui.graph.pan")}`, () => undefined);
  viewport.root.classList.add("fx-viewport");
  viewport.follow(null);
  viewport.root.addEventListener("focusin", (event) => {
    const found = boxes.find(({ box }) => box === event.target);
    if (found?.box.matches(":focus-visible") === true) viewport.reveal(found.place);
  });
  return viewport.root;
}

/** The same as text: a line per node. */
export function fxList({ graph }: DrawnGraph, lines: readonly string[], say: Say): HTMLElement {
  const rows = graph.nodes.map((node) => {
    const row = nodeButton(node, lines, say);
    row.append(el("code", {}, codeOf(node)), el("span", { class: "mute" }, [resultOf(node), placeOf(node, say)].filter(Boolean).join(" · ")));
    return el("li", {}, row);
  });
  if (graph.omitted > 0) rows.push(el("li", { class: "mute" }, say("ui.compiled.omitted", { n: graph.omitted })));
  return el("ol", { class: "fx-list" }, ...rows);
}

function nodeButton(node: FxNode, lines: readonly string[], say: Say): HTMLButtonElement {
  const words = [codeOf(node), resultOf(node), placeOf(node, say)].filter(Boolean).join(say("list.pause"));
  // Called what is seen on it as well.
  const label = words.includes(titleOf(node)) ? words : `${titleOf(node)}: ${words}`;
  const button = el("button", { type: "button", class: `fx-node fx-${node.op.replace("_", "-")}`, title: words, "aria-label": label });
  const range = node.line === null ? null : lineRange(lines, node.line);
  for (const name of ["pointerenter", "focus", "click"]) button.addEventListener(name, () => pointAt(button, range));
  for (const name of ["pointerleave", "blur"]) button.addEventListener(name, () => pointAt(button, null));
  return button;
}

/** What is called, without the module it is in; what an input is. The twin of it in app/drawing/compiler.py sizes the box. */
export function titleOf({ op, target }: FxNode): string {
  if (op === "output") return "output";
  if (op === "placeholder" || op === "get_attr") return target;
  if (target.startsWith("aten.")) return target.slice(5).replace(/\.default$/, "");
  return target.slice(target.lastIndexOf(".") + 1);
}

function resultOf({ shape, dtype }: FxNode): string {
  if (shape === null) return dtype ?? "";
  return `(${shape.join(", ")}) ${dtype ?? ""}`;
}

function codeOf({ op, name, target, arguments: given }: FxNode): string {
  if (op === "output") return `return ${given}`;
  return op === "placeholder" ? `${name} = ${target}` : `${name} = ${target}(${given})`;
}

function placeOf({ line }: FxNode, say: Say): string {
  return line === null ? "" : say("ui.graph.line", { line });
}

function head(points: readonly (readonly number[])[]): string {
  const [tipX = 0, tipY = 0] = points.at(-1) ?? [];
  const [beforeX = 0, beforeY = 0] = points.at(-2) ?? [];
  const length = Math.hypot(tipX - beforeX, tipY - beforeY) || 1;
  const [dx, dy] = [(tipX - beforeX) / length, (tipY - beforeY) / length];
  const corner = (side: number): string => `${tipX - dx * HEAD - dy * side} ${tipY - dy * HEAD + dx * side}`;
  return `M${tipX} ${tipY}L${corner(4.5)}L${corner(-4.5)}z`;
}
