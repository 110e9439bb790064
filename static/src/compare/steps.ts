/**
 * The rows of two runs on one axis: what each side executes, and in which layer something began to
 * differ. A slider for the keyboard, a strip for the pointer.
 */
import type { Messages } from "../model/messages";
import type { Pair } from "./pair";
import { LAYERS, type Layer } from "../model/state";
import { el, svg } from "../views/dom";
import { layerIcon } from "../views/icons";
import { goTo } from "../views/view";

const LANE = 14;
const LANES = ["left", "right", ...LAYERS] as const;
/** How long the page may stand still for marks. */
const SLICE_MS = 10;

export class AlignedSteps {
  readonly element: HTMLElement;
  private readonly slider: HTMLElement;
  private readonly band = svg("rect", { class: "timeline-band", y: 0, width: 1 });
  private readonly marks = svg("g", { class: "done" });
  private readonly rows: number;
  private closed = false;

  constructor(
    private readonly pair: Pair,
    private readonly messages: Messages,
  ) {
    this.rows = pair.rows.length;
    const height = LANES.length * LANE;
    const picture = svg("svg", { class: "compare-strip", viewBox: `0 0 ${Math.max(1, this.rows)} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" });
    this.band.setAttribute("height", String(height));
    picture.append(this.band, this.lane("left", 0), this.lane("right", 1), this.marks);
    this.slider = el("div", { class: "compare-slider", role: "slider", tabindex: 0, "aria-label": messages.text("ui.compare.steps"), "aria-valuemin": 0, "aria-valuemax": this.rows }, picture);
    const names = LANES.map((lane) => {
      const layer = lane === "left" || lane === "right" ? null : lane;
      const words = messages.text(layer === null ? `ui.compare.${lane}` : `ui.layer.${layer}`);
      return el("li", {}, ...(layer === null ? [] : [layerIcon(layer)]), el("span", {}, words));
    });
    this.element = el("div", { class: "compare-steps" }, el("ul", { class: "compare-lanes", "aria-hidden": "true" }, ...names), this.slider);
    this.slider.addEventListener("pointerdown", (event) => {
      this.slider.setPointerCapture(event.pointerId);
      this.point(event);
    });
    this.slider.addEventListener("pointermove", (event) => {
      if (this.slider.hasPointerCapture(event.pointerId)) this.point(event);
    });
    this.markFrom(1);
  }

  show(row: number): void {
    this.band.setAttribute("x", String(Math.max(0, row - 1)));
    this.band.setAttribute("visibility", row === 0 ? "hidden" : "visible");
    this.slider.setAttribute("aria-valuenow", String(row));
    this.slider.setAttribute("aria-valuetext", this.messages.text("ui.step.of", { step: row, steps: this.rows }));
  }

  close(): void {
    this.closed = true;
  }

  private point(event: PointerEvent): void {
    const box = this.slider.getBoundingClientRect();
    const row = Math.floor(((event.clientX - box.left) / box.width) * this.rows) + 1;
    goTo(this.slider, Math.max(1, Math.min(this.rows, row)));
  }

  /** Rows in which a side executes something, neighbours as one. */
  private lane(side: "left" | "right", index: number): SVGElement {
    const runs: [number, number][] = [];
    this.pair.rows.forEach((row, at) => {
      if (row[side] === null) return;
      const last = runs.at(-1);
      if (last !== undefined && last[1] === at && this.rows > 200) last[1] = at + 1;
      else runs.push([at, at + 1]);
    });
    const inset = this.rows > 200 ? 0 : 0.06;
    const rects = runs.map(([from, to]) => svg("rect", { x: from + inset, y: index * LANE + 3, width: to - from - 2 * inset, height: LANE - 6 }));
    return svg("g", { class: `compare-lane compare-lane-${side}` }, ...rects);
  }

  /** Marks what began to differ, a piece at a time. */
  private markFrom(first: number): void {
    const until = performance.now() + SLICE_MS;
    let row = first;
    for (; row <= this.rows && performance.now() < until; row += 1) {
      for (const layer of this.pair.layers(row)) this.marks.append(this.mark(layer, row));
    }
    if (row <= this.rows && !this.closed) setTimeout(() => this.markFrom(row), 0);
    else this.slider.dataset["marked"] = "all";
  }

  private mark(layer: Layer, row: number): SVGElement {
    const y = (2 + LAYERS.indexOf(layer)) * LANE + 3;
    const rect = svg("rect", { class: "track", x: row - 0.94, y, width: 0.88, height: LANE - 6 });
    return svg("g", { class: `track-${layer}` }, rect);
  }
}
