/**
 * From one picture of the graph to the next: a corner keeps its place in the window, and boxes glide to where they
 * now stand, unless the reader wants less motion.
 */
import type { AutogradView } from "../views/autograd";

interface Corner {
  readonly x: number;
  readonly y: number;
}

const MILLISECONDS = 220;
/** Boxes above which nothing glides: it would take longer than it lasts. */
const MOST = 400;

export class Glide {
  private corner: Corner | undefined;
  private shown: Corner = { x: 0, y: 0 };
  private scale = 1;
  private readonly before = new Map<number, Corner>();

  constructor(private readonly graph: AutogradView) {}

  /** Before the picture is drawn anew: what is to keep its place, and where boxes are. */
  from(corner: () => Corner | undefined): void {
    const { viewport, boxes } = this.graph;
    this.corner = corner();
    if (viewport === null) return;
    this.shown = viewport.shown;
    this.scale = viewport.zoomed;
    this.before.clear();
    for (const { drawing } of boxes) if (!this.before.has(drawing.node)) this.before.set(drawing.node, drawing);
  }

  /** After it was drawn anew. */
  to(corner: () => Corner | undefined): void {
    const { viewport, boxes } = this.graph;
    const [was, now] = [this.corner, corner()];
    if (viewport === null || was === undefined || now === undefined) return;
    const moved = { x: now.x - was.x, y: now.y - was.y };
    viewport.look({ x: this.shown.x + moved.x, y: this.shown.y + moved.y }, this.scale);
    if (matchMedia("(prefers-reduced-motion: reduce)").matches || boxes.length > MOST) return;
    const timing = { duration: MILLISECONDS, easing: "ease-out" };
    for (const { drawing, root } of boxes) {
      const old = this.before.get(drawing.node);
      const [dx, dy] = old === undefined ? [0, 0] : [old.x + moved.x - drawing.x, old.y + moved.y - drawing.y];
      if (old === undefined) root.animate([{ opacity: 0 }, { opacity: 1 }], timing);
      else if (dx !== 0 || dy !== 0) root.animate([{ transform: `translate(${dx}px, ${dy}px)` }, { transform: "none" }], timing);
    }
    for (const each of viewport.root.querySelectorAll(".edges, .fold-frame, .fold-head")) each.animate([{ opacity: 0 }, { opacity: 1 }], timing);
  }
}
