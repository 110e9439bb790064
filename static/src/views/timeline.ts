/**
 * The whole run on one scale: four tracks, bytes alive, calls as brackets, one band for the step.
 *
 * Every mark is drawn twice, as done and as to come, and each drawing is clipped at the band: a step
 * moves the band and two clips, whatever the length of the run. Of a run wider than the window only
 * what is near the window is drawn. Coordinates come from `layout/timeline.ts`.
 */
import {
  COMPACT_ROWS,
  FULL_ROWS,
  TEXT_COLUMN,
  DETAILED_COLUMN,
  bracketPath,
  brackets,
  columnAt,
  covers,
  memoryCurves,
  scaleFor,
  spanAround,
  trackPath,
  type Bracket,
  type Rows,
  type Scale,
  type Span,
} from "../layout/timeline";
import { formatBytes, type Messages } from "../model/messages";
import type { Outline, StepOutline } from "../model/outline";
import { LAYERS, type State } from "../model/state";
import type { Trace } from "../schema/trace.gen";
import { el, svg } from "./dom";
import { layerIcon } from "./icons";
import { goTo, type View } from "./view";

/** The mark on top of the band is seen in a long run too. */
const LEAST_CAP = 9;

/** About the width of a letter in the cell of an error. */
const LETTER = 7;

let clips = 0;

export class TimelineView implements View {
  private readonly rows: Rows;
  private readonly lanes: number;
  private readonly top: number;
  private readonly memory: number;
  private readonly height: number;
  private readonly picture = svg("svg", { class: "timeline-picture", "aria-hidden": "true" });
  private readonly labels = el("div", { class: "timeline-labels", "aria-hidden": "true" });
  private readonly canvas = el("div", { class: "timeline-canvas" }, this.picture, this.labels);
  private readonly scroll = el("div", { class: "timeline-scroll", role: "slider", tabindex: 0 }, this.canvas);
  private readonly usage = el("span", { class: "usage" });
  private readonly toggle = el("button", { type: "button", class: "small-button timeline-scale" });
  private readonly band = svg("rect", { class: "timeline-band", y: 0, rx: 5 });
  private readonly bandTop = svg("rect", { class: "timeline-band-top", y: 0, height: 3, rx: 1.5 });
  private readonly past = svg("rect", { x: 0, y: 0 });
  private readonly future = svg("rect", { y: 0 });
  private readonly clip: { readonly past: string; readonly future: string };
  private readonly calls: readonly Bracket[];
  private texts = new Map<number, HTMLElement>();
  private marked: HTMLElement | undefined;
  private scale: Scale = { columns: 1, column: 1, width: 1 };
  private available = 0;
  /** Kept, because asking while views are changing would make the browser lay out the page. */
  private scrolled = 0;
  private drawn: Span = { from: 0, to: 0 };
  private whole: boolean | null = null;
  private state: State | null = null;
  /** Since the band was last brought into sight. */
  private moved = false;
  private trace: Trace | null = null;

  constructor(
    private readonly outline: Outline,
    private readonly messages: Messages,
    /** In the header, or before the tracks of a compact one. */
    private readonly controls: HTMLElement,
    private readonly compact: boolean,
    /** Buttons of others, in the header. */
    private readonly tools: HTMLElement | null = null,
  ) {
    clips += 1;
    this.clip = { past: `timeline-past-${clips}`, future: `timeline-future-${clips}` };
    this.rows = compact ? COMPACT_ROWS : FULL_ROWS;
    this.calls = compact ? [] : brackets(outline.steps);
    this.lanes = this.calls.reduce((most, call) => Math.max(most, call.lane + 1), 0);
    // Brackets take their room from the curve: the timeline is as high with calls as without.
    const above = this.lanes === 0 ? 0 : this.lanes * this.rows.lane + 3;
    this.top = this.rows.label + above;
    this.memory = Math.max(0, this.rows.memory - above);
    this.height = this.top + LAYERS.length * this.rows.track + (compact ? 0 : 4 + this.memory);
  }

  mount(root: HTMLElement, trace: Trace): void {
    this.trace = trace;
    const body = el("div", { class: this.compact ? "timeline-body compact" : "timeline-body" });
    if (!this.compact) body.append(this.names());
    body.append(this.scroll);
    if (this.compact) root.replaceChildren(this.controls, body);
    else {
      const title = el("h2", {}, this.messages.text("ui.timeline.title"));
      const hints = this.hints();
      root.replaceChildren(
        el("header", { class: "timeline-header" }, title, this.controls, hints, el("span", { class: "space" }), this.usage, this.toggle, ...(this.tools === null ? [] : [this.tools])),
        body,
      );
    }
    this.scroll.setAttribute("aria-label", this.messages.text("ui.timeline.slider"));
    this.scroll.setAttribute("aria-valuemin", String(Math.min(1, this.outline.steps.length)));
    this.scroll.setAttribute("aria-valuemax", String(this.outline.steps.length));
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.scroll);
    this.resize();
  }

  show(state: State): void {
    this.moved ||= this.state?.step !== state.step;
    this.state = state;
    this.place();
    const step = this.outline.steps[state.step - 1];
    const place = this.messages.text("ui.step.of", { step: state.step, steps: this.outline.steps.length });
    const layers = step?.lamps.map((layer) => this.messages.text(`ui.layer.${layer}`)) ?? [];
    this.scroll.setAttribute("aria-valuenow", String(state.step));
    this.scroll.setAttribute("aria-valuetext", [place, step?.text, ...layers].filter(Boolean).join(", "));
    const devices = [...state.alive].map(([device, bytes]) => {
      return this.messages.text("ui.timeline.device", { device, bytes });
    });
    this.usage.textContent = this.messages.text("ui.timeline.usage", { devices: devices.join(" · ") || formatBytes(0) });
  }

  settle(): void {
    if (this.moved) this.follow();
    this.moved = false;
  }

  private names(): HTMLElement {
    const names = LAYERS.map((layer) => {
      return el("span", { class: "timeline-name" }, layerIcon(layer), el("span", {}, this.messages.text(`ui.layer.${layer}`)));
    });
    const peak = this.messages.text("ui.timeline.peak", { bytes: this.outline.peak });
    const memory = el(
      "span",
      { class: "timeline-name timeline-memory-name" },
      el("span", {}, this.messages.text("ui.timeline.memory")),
      el("span", { class: "timeline-peak" }, peak),
    );
    memory.style.height = `${Math.max(32, this.memory)}px`;
    const column = el("div", { class: "timeline-names", "aria-hidden": "true" }, ...names, memory);
    column.style.paddingTop = `${this.top}px`;
    return column;
  }

  private hints(): HTMLElement {
    const key = (name: string): HTMLElement => el("kbd", {}, name);
    return el(
      "span",
      { class: "hints", "aria-hidden": "true" },
      key("←"),
      key("→"),
      this.messages.text("ui.keys.step"),
      key("1"),
      "–",
      key("4"),
      this.messages.text("ui.keys.layer"),
      key("?"),
      this.messages.text("ui.keys.help"),
    );
  }

  private listen(): void {
    const stepAt = (event: MouseEvent): number => {
      const column = columnAt(this.scale, event.clientX - this.canvas.getBoundingClientRect().left);
      return Math.min(column + 1, this.outline.steps.length);
    };
    this.scroll.addEventListener("scroll", () => {
      this.scrolled = this.scroll.scrollLeft;
      this.cover();
    });
    this.canvas.addEventListener("click", (event) => goTo(this.scroll, stepAt(event)));
    this.canvas.addEventListener("pointermove", (event) => {
      const step = this.outline.steps[stepAt(event) - 1];
      this.canvas.title = step === undefined ? "" : this.tip(step);
    });
    this.toggle.addEventListener("click", () => {
      this.whole = !this.isWhole();
      this.draw();
    });
  }

  private tip(step: StepOutline): string {
    const words = this.messages.text("ui.timeline.tip", { step: step.number, line: step.line, text: step.text });
    if (step.executions <= 1) return words;
    return `${words} ${this.messages.text("ui.step.folded", { count: step.executions })}`;
  }

  /** A run that ended without a step for its end gets a column for it. */
  private columns(): number {
    const { steps } = this.outline;
    const ended = this.trace?.outcome.kind !== "finished" && steps.at(-1)?.raised !== true;
    return Math.max(1, steps.length + (ended ? 1 : 0));
  }

  private isWhole(): boolean {
    return this.whole ?? (this.compact || this.available / this.columns() >= 3);
  }

  private resize(): void {
    const width = this.scroll.clientWidth;
    if (width === 0 || width === this.available) return;
    this.available = width;
    this.draw();
  }

  private draw(): void {
    const columns = this.columns();
    const whole = this.isWhole();
    this.scale = scaleFor(columns, this.available, whole);
    this.toggle.hidden = this.compact || this.available / columns >= DETAILED_COLUMN;
    this.toggle.textContent = this.messages.text(whole ? "ui.timeline.detail" : "ui.timeline.whole");
    this.canvas.style.width = `${this.scale.width}px`;
    this.canvas.style.height = `${this.height}px`;
    this.picture.setAttribute("height", String(this.height));
    this.picture.classList.toggle("dense", this.scale.column < 10);
    for (const rect of [this.band, this.past, this.future]) rect.setAttribute("height", String(this.height));
    this.future.setAttribute("width", String(this.scale.width));
    this.scrolled = Math.max(0, Math.min(this.scrolled, this.scale.width - this.available));
    this.drawn = { from: 0, to: 0 };
    this.place();
    this.follow();
    this.cover();
  }

  /** Draws what is near the window, unless it is drawn. */
  private cover(): void {
    const { scale, scrolled, available } = this;
    if (available === 0 || covers(this.drawn, scale, scrolled, available)) return;
    this.drawn = spanAround(scale, scrolled, available);
    const left = this.drawn.from * scale.column;
    const width = this.drawn.to * scale.column - left;
    this.picture.setAttribute("viewBox", `${left} 0 ${width} ${this.height}`);
    this.picture.setAttribute("width", String(width));
    this.picture.style.setProperty("margin-left", `${left}px`);
    const { past, future } = this.clip;
    const definitions = svg(
      "defs",
      {},
      svg("clipPath", { id: past }, this.past),
      svg("clipPath", { id: future }, this.future),
    );
    const marks = this.marks();
    this.picture.replaceChildren(
      definitions,
      this.band,
      this.bandTop,
      this.rules(),
      svg("g", { class: "done", "clip-path": `url(#${past})` }, ...marks()),
      svg("g", { class: "to-come", "clip-path": `url(#${future})` }, ...marks()),
    );
    this.label();
  }

  private rules(): SVGElement {
    const lines = this.compact
      ? []
      : LAYERS.map((_, row) => {
          const y = this.top + (row + 1) * this.rows.track - 0.5;
          return svg("path", { d: `M0 ${y}H${this.scale.width}` });
        });
    return svg("g", { class: "timeline-rules" }, ...lines);
  }

  private marks(): () => SVGElement[] {
    const { drawn } = this;
    const { steps } = this.outline;
    const { track } = this.rows;
    const inset = this.compact ? 1.5 : 3;
    const tracks = LAYERS.map((layer, row) => {
      const d = trackPath(steps, layer, this.scale, this.top + row * track + inset, track - 2 * inset - (this.compact ? 0 : 0.5), drawn);
      return { class: `track track-${layer}`, d };
    });
    const lanes = Array.from({ length: this.lanes }, (_, lane) => {
      return { class: "bracket", d: bracketPath(this.calls, lane, this.scale, this.rows.label + lane * this.rows.lane + 2.5, drawn) };
    });
    const curves = this.compact
      ? []
      : memoryCurves(this.outline, this.scale, this.top + LAYERS.length * track + 4, this.memory, drawn).flatMap((curve) => {
          const kind = curve.device === "cpu" ? "cpu" : "other";
          return [
            { class: `memory-area memory-area-${kind}`, d: curve.area },
            { class: `memory-edge memory-edge-${kind}`, d: curve.edge },
          ];
        });
    return () => [...lanes, ...tracks, ...curves].map((attributes) => svg("path", attributes));
  }

  private label(): void {
    const { column } = this.scale;
    const full = column >= TEXT_COLUMN;
    const { from, to } = this.drawn;
    this.texts = new Map();
    if (!this.compact && column >= DETAILED_COLUMN - 4) {
      this.outline.steps.slice(from, to).forEach((step, offset) => {
        const index = from + offset;
        const text = el("span", { class: "timeline-label" }, full ? `${step.line} ${step.text}` : String(step.line));
        text.style.left = `${index * column}px`;
        text.style.width = `${column}px`;
        this.texts.set(step.number, text);
      });
    }
    this.labels.replaceChildren(...this.texts.values(), ...this.ending());
    this.mark();
  }

  /** The cell of an error or a limit, over the tracks of its column. */
  private ending(): HTMLElement[] {
    const outcome = this.trace?.outcome;
    if (outcome === undefined || outcome.kind === "finished") return [];
    const { column, columns } = this.scale;
    const cell = el("div", { class: "timeline-ending" });
    const name = outcome.type ?? this.messages.text(`ui.outcome.short.${outcome.reason ?? outcome.kind}`);
    const roomy = column >= Math.max(TEXT_COLUMN, name.length * LETTER + 24);
    if (column >= 12) cell.append(el("strong", {}, roomy ? name : "✕"));
    const gap = Math.min(6, column * 0.1);
    const width = Math.max(3, column - 2 * gap);
    cell.style.left = `${Math.min((columns - 1) * column + gap, this.scale.width - width)}px`;
    cell.style.width = `${width}px`;
    cell.style.top = `${this.top + 1}px`;
    cell.style.height = `${LAYERS.length * this.rows.track - 2}px`;
    return [cell];
  }

  private extent(): { left: number; width: number } {
    const step = this.state?.step ?? 0;
    const width = step === 0 ? 0 : Math.max(2, this.scale.column);
    return { left: Math.max(0, Math.min((step - 1) * this.scale.column, this.scale.width - width)), width };
  }

  /** Moves the band and the clips. */
  private place(): void {
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
    this.mark();
  }

  private mark(): void {
    this.marked?.classList.remove("now");
    this.marked = this.texts.get(this.state?.step ?? 0);
    this.marked?.classList.add("now");
  }

  /** Brings the band into sight. */
  private follow(): void {
    const { available, scrolled, scale } = this;
    if (available === 0 || scale.width <= available) return;
    const { left, width } = this.extent();
    const end = left + width;
    const margin = available / 4;
    let to = scrolled;
    if (left - margin < scrolled) to = left - margin;
    else if (end + margin > scrolled + available) to = end + margin - available;
    to = Math.max(0, Math.min(to, scale.width - available));
    if (to === scrolled) return;
    this.scrolled = to;
    this.cover();
    this.scroll.scrollLeft = to;
  }
}
