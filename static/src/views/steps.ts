/**
 * The run on one scale: a track per layer, one band for the step, and a column for how it ended.
 *
 * Every mark is drawn twice, as done and as to come, and each drawing is clipped at the band: a step
 * moves the band and two clips, whatever the length of the run. This is all that a compact player has
 * of it; `timeline` is the one that pages fill. Coordinates come from `layout/steps.ts`.
 */
import { columnAt, TEXT_COLUMN, trackPath, type Scale, type Span } from "../layout/steps";
import { together, type Messages } from "../model/messages";
import type { Outline, StepOutline } from "../model/outline";
import { LAYERS, type State } from "../model/state";
import type { Trace } from "../schema/trace.gen";
import { el, svg, type Attributes } from "./dom";
import { goTo, type View } from "./view";

/** The mark on top of the band is seen in a long run too. */
const LEAST_CAP = 9;

/** About the width of a letter in the cell of an error. */
const LETTER = 7;

/** Where the tracks lie, in CSS pixels. */
export interface TrackRows {
  /** Above the first. */
  readonly top: number;
  readonly track: number;
  /** Between a track's edge and its bars. */
  readonly inset: number;
  /** Of everything. */
  readonly height: number;
}

const COMPACT: TrackRows = { top: 4, track: 11, inset: 1.5, height: 48 };

let clips = 0;

export class StepsView implements View {
  protected readonly picture = svg("svg", { class: "timeline-picture", "aria-hidden": "true" });
  protected readonly labels = el("div", { class: "timeline-labels", "aria-hidden": "true" });
  protected readonly canvas = el("div", { class: "timeline-canvas" }, this.picture, this.labels);
  protected readonly scroll = el("div", { class: "timeline-scroll", role: "slider", tabindex: 0 }, this.canvas);
  private readonly band = svg("rect", { class: "timeline-band", y: 0, rx: 5 });
  private readonly bandTop = svg("rect", { class: "timeline-band-top", y: 0, height: 3, rx: 1.5 });
  private readonly past = svg("rect", { x: 0, y: 0 });
  private readonly future = svg("rect", { y: 0 });
  protected readonly clip: { readonly past: string; readonly future: string };
  protected scale: Scale = { columns: 1, column: 1, width: 1 };
  protected available = 0;
  /** The columns that are drawn. */
  protected drawn: Span = { from: 0, to: 0 };
  protected state: State | null = null;
  protected trace: Trace | null = null;

  constructor(
    protected readonly outline: Outline,
    protected readonly messages: Messages,
    /** Before the tracks, or in the header. */
    protected readonly controls: HTMLElement,
    protected rows = COMPACT,
  ) {
    clips += 1;
    this.clip = { past: `timeline-past-${clips}`, future: `timeline-future-${clips}` };
  }

  mount(root: HTMLElement, trace: Trace): void {
    this.trace = trace;
    root.replaceChildren(...this.parts());
    this.scroll.setAttribute("aria-label", this.messages.text("ui.step.slider"));
    this.scroll.setAttribute("aria-valuemin", String(Math.min(1, this.outline.steps.length)));
    this.scroll.setAttribute("aria-valuemax", String(this.outline.steps.length));
    this.canvas.addEventListener("click", (event) => goTo(this.scroll, this.stepAt(event)));
    this.canvas.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "mouse") this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    new ResizeObserver(() => this.resize()).observe(this.scroll);
    this.resize();
  }

  show(state: State): void {
    this.state = state;
    this.place();
    const step = this.outline.steps[state.step - 1];
    const place = this.messages.text("ui.step.of", { step: state.step, steps: this.outline.steps.length });
    const layers = step?.lamps.map((layer) => this.messages.text(`ui.layer.${layer}`)) ?? [];
    this.scroll.setAttribute("aria-valuenow", String(state.step));
    this.scroll.setAttribute("aria-valuetext", [place, step?.text, ...layers].filter(Boolean).join(", "));
  }

  /** What stands in the root. */
  protected parts(): HTMLElement[] {
    return [this.controls, el("div", { class: "timeline-body compact" }, this.scroll)];
  }

  /** A point is told of; the band follows one that is held down. */
  protected point(event: PointerEvent): void {
    const at = this.stepAt(event);
    const step = this.outline.steps[at - 1];
    this.canvas.title = step === undefined ? "" : this.tip(step);
    if ((event.buttons & 1) === 1) this.scroll.dispatchEvent(new CustomEvent("drag-to-step", { detail: at, bubbles: true }));
  }

  protected stepAt(event: MouseEvent): number {
    const column = columnAt(this.scale, event.clientX - this.canvas.getBoundingClientRect().left);
    return Math.min(column + 1, this.outline.steps.length);
  }

  protected tip(step: StepOutline): string {
    const words = this.messages.text("ui.step.tip", { step: step.number, line: step.line, text: step.text });
    if (step.executions <= 1) return words;
    return together([words, this.messages.text("ui.step.folded", { count: step.executions })]);
  }

  /** A run that ended without a step for its end gets a column for it. */
  protected columns(): number {
    const { steps } = this.outline;
    const ended = this.trace?.outcome.kind !== "finished" && steps.at(-1)?.raised !== true;
    return Math.max(1, steps.length + (ended ? 1 : 0));
  }

  private resize(): void {
    const width = this.scroll.clientWidth;
    if (width === 0 || width === this.available) return;
    this.available = width;
    this.draw();
  }

  protected draw(): void {
    const columns = this.columns();
    this.fit({ columns, column: this.available / columns, width: this.available });
    this.paint({ from: 0, to: columns });
  }

  /** Takes a scale. */
  protected fit(scale: Scale): void {
    this.scale = scale;
    const { height } = this.rows;
    this.canvas.style.width = `${scale.width}px`;
    this.canvas.style.height = `${height}px`;
    this.picture.setAttribute("height", String(height));
    this.picture.classList.toggle("dense", scale.column < 10);
    for (const rect of [this.band, this.past, this.future]) rect.setAttribute("height", String(height));
    this.future.setAttribute("width", String(scale.width));
    this.place();
  }

  /** Draws some columns. */
  protected paint(drawn: Span): void {
    this.drawn = drawn;
    const { column } = this.scale;
    const left = drawn.from * column;
    const width = drawn.to * column - left;
    this.picture.setAttribute("viewBox", `${left} 0 ${width} ${this.rows.height}`);
    this.picture.setAttribute("width", String(width));
    this.picture.style.setProperty("margin-left", `${left}px`);
    const { past, future } = this.clip;
    const definitions = svg("defs", {}, svg("clipPath", { id: past }, this.past), svg("clipPath", { id: future }, this.future));
    const marks = (): SVGElement[] => this.marks().map((attributes) => svg("path", attributes));
    this.picture.replaceChildren(
      definitions,
      this.band,
      this.bandTop,
      ...this.under(),
      svg("g", { class: "done", "clip-path": `url(#${past})` }, ...marks()),
      svg("g", { class: "to-come", "clip-path": `url(#${future})` }, ...marks()),
    );
    this.labels.replaceChildren(...this.texts());
  }

  /** What lies under the marks whether done or to come. */
  protected under(): SVGElement[] {
    return [];
  }

  protected marks(): Attributes[] {
    const { top, track, inset } = this.rows;
    return LAYERS.map((layer, row) => {
      const d = trackPath(this.outline.steps, layer, this.scale, top + row * track + inset, track - 2 * inset, this.drawn);
      return { class: `track track-${layer}`, d };
    });
  }

  /** What lies over the picture. */
  protected texts(): HTMLElement[] {
    return this.ending();
  }

  /** The cell of an error or a limit, over the tracks of its column. */
  private ending(): HTMLElement[] {
    const outcome = this.trace?.outcome;
    if (outcome === undefined || outcome.kind === "finished") return [];
    const { column, columns } = this.scale;
    const name = outcome.type ?? this.messages.text(`ui.outcome.short.${outcome.reason ?? outcome.kind}`);
    const cell = el("div", { class: "timeline-ending", title: name });
    const roomy = column >= Math.max(TEXT_COLUMN, name.length * LETTER + 24);
    if (column >= 12) cell.append(roomy ? el("strong", {}, name) : "✕");
    const gap = Math.min(6, column * 0.1);
    const width = Math.max(3, column - 2 * gap);
    cell.style.left = `${Math.min((columns - 1) * column + gap, this.scale.width - width)}px`;
    cell.style.width = `${width}px`;
    cell.style.top = `${this.rows.top + 1}px`;
    cell.style.height = `${LAYERS.length * this.rows.track - 2}px`;
    return [cell];
  }

  protected extent(): { left: number; width: number } {
    const step = this.state?.step ?? 0;
    const width = step === 0 ? 0 : Math.max(2, this.scale.column);
    return { left: Math.max(0, Math.min((step - 1) * this.scale.column, this.scale.width - width)), width };
  }

  /** Moves the band and the clips. */
  protected place(): void {
    const step = this.state?.step ?? 0;
    const { left, width } = this.extent();
    const end = step === 0 ? 0 : left + width;
    const cap = step === 0 ? 0 : Math.max(width, LEAST_CAP);
    this.band.setAttribute("x", String(left));
    this.band.setAttribute("width", String(width));
    this.bandTop.setAttribute("x", String(Math.max(0, Math.min(left + (width - cap) / 2, this.scale.width - cap))));
    this.bandTop.setAttribute("width", String(cap));
    this.past.setAttribute("width", String(end));
    this.future.setAttribute("x", String(end));
  }
}
