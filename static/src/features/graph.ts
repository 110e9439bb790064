/**
 * Room and sight in the graph's panel: it can take the place of the others, a map says where one is in a
 * large picture, and whatever shows a storage lights up with all else that shows the same one.
 */
import type { Extra, Feature, Stage } from "../stage";
import type { AutogradView } from "../views/autograd";
import { el } from "../views/dom";
import type { Box } from "../views/viewport";
import { graphAmong } from "./parts";

export const GRAPH: Feature = (stage, views) => {
  const graph = graphAmong(views);
  const panel = stage.root.querySelector<HTMLElement>(".player-graph");
  if (graph?.viewport == null || panel === null) return null;
  lightTogether(stage.root);
  const toggle = sizeButton(stage, panel);
  const map = new GraphMap(graph, stage.messages.text("ui.graph.map"));
  graph.viewport.root.after(map.root);
  return {
    show: () => map.draw(),
    keys: [["g", "graph"]],
    key: (key) => {
      if (key !== "g") return false;
      toggle();
      return true;
    },
  } satisfies Extra;
};

/** A button that gives the graph the room of the other pictures, and back. */
function sizeButton({ messages }: Stage, panel: HTMLElement): () => void {
  const label = messages.text("ui.graph.large");
  const button = el("button", { type: "button", class: "graph-size", title: label, "aria-label": label, "aria-pressed": "false" }, "⤢");
  const toggle = (): void => {
    const large = panel.parentElement?.classList.toggle("graph-large") === true;
    button.setAttribute("aria-pressed", String(large));
  };
  panel.parentElement?.classList.remove("graph-large");
  button.addEventListener("click", toggle);
  panel.querySelector(".graph-buttons")?.append(button);
  return toggle;
}

const lighting = new WeakSet<Element>();

/** Marks everything that shows the storage under the pointer, or the one that has the keyboard. */
function lightTogether(root: HTMLElement): void {
  if (lighting.has(root)) return;
  lighting.add(root);
  let lit: Element[] = [];
  const light = (target: EventTarget | null): void => {
    const id = target instanceof Element ? target.closest("[data-storage]")?.getAttribute("data-storage") : undefined;
    for (const each of lit) each.classList.remove("lit");
    lit = id == null ? [] : [...root.querySelectorAll(`[data-storage="${CSS.escape(id)}"]`)];
    for (const each of lit) each.classList.add("lit");
  };
  root.addEventListener("pointerover", ({ target }) => light(target));
  root.addEventListener("pointerleave", () => light(null));
  root.addEventListener("focusin", ({ target }) => light(target));
  root.addEventListener("focusout", () => light(null));
}

const LONGEST = 132;
const HIGHEST = 84;
/** Above this share of the picture in the window nobody is lost. */
const MOST_SHOWN = 0.5;

/** The whole picture, small, with the part that the window shows. Only there while that is a small part. */
class GraphMap {
  readonly root = el("canvas", { class: "graph-map", role: "img", hidden: true });
  private scale = 1;
  private waiting = false;
  private drawn: AutogradView["boxes"] = [];
  private painted = "";

  constructor(
    private readonly graph: AutogradView,
    label: string,
  ) {
    this.root.setAttribute("aria-label", label);
    graph.moved = () => this.draw();
    this.root.addEventListener("pointerdown", (event) => {
      this.root.setPointerCapture(event.pointerId);
      this.center(event);
    });
    this.root.addEventListener("pointermove", (event) => {
      if (this.root.hasPointerCapture(event.pointerId)) this.center(event);
    });
  }

  /** Once before the next frame, however often it is asked for. */
  draw(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.paint();
    });
  }

  private center({ clientX, clientY }: PointerEvent): void {
    const box = this.root.getBoundingClientRect();
    const { viewport } = this.graph;
    if (viewport === null) return;
    const { shown, zoomed } = viewport;
    const [x, y] = [(clientX - box.left) / this.scale - shown.width / 2, (clientY - box.top) / this.scale - shown.height / 2];
    viewport.pan((shown.x - x) * zoomed, (shown.y - y) * zoomed);
  }

  private paint(): void {
    const { root } = this;
    const { viewport } = this.graph;
    if (viewport === null) return;
    const { width, height } = viewport.size;
    const scale = (this.scale = Math.min(LONGEST / width, HIGHEST / height));
    const { shown } = viewport;
    root.hidden = shown.width === 0 || shown.width * shown.height > width * height * MOST_SHOWN;
    const brush = root.hidden ? null : root.getContext("2d");
    if (brush === null) return;
    const dense = devicePixelRatio;
    const { color, borderTopColor, outlineColor } = getComputedStyle(root);
    const faint = this.graph.boxes.map(({ root: box }) => box.classList.contains("future") || box.classList.contains("gone"));
    const key = [dense, color, borderTopColor, outlineColor, ...Object.values(shown), ...faint.map(Number)].join(" ");
    if (this.drawn === this.graph.boxes && key === this.painted) return;
    [this.drawn, this.painted] = [this.graph.boxes, key];
    const [wide, high] = [Math.max(24, Math.ceil(width * scale)), Math.max(16, Math.ceil(height * scale))];
    root.width = wide * dense;
    root.height = high * dense;
    root.style.setProperty("width", `${wide}px`);
    root.style.setProperty("height", `${high}px`);
    brush.scale(dense, dense);
    this.drawn.forEach(({ drawing }, i) => {
      brush.fillStyle = faint[i] === true ? borderTopColor : color;
      brush.fillRect(drawing.x * scale, drawing.y * scale, Math.max(1.5, drawing.width * scale), Math.max(1.5, drawing.height * scale));
    });
    this.frame(brush, shown, outlineColor);
  }

  private frame(brush: CanvasRenderingContext2D, shown: Box, colour: string): void {
    brush.strokeStyle = colour;
    brush.lineWidth = 2;
    brush.strokeRect(shown.x * this.scale, shown.y * this.scale, shown.width * this.scale, shown.height * this.scale);
  }
}
