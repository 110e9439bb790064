/**
 * The timeline of a page: the tracks of `steps`, bytes alive below, calls as brackets, the steps' lines.
 *
 * Of a run wider than the window only what is near the window is drawn. Coordinates come from
 * `layout/timeline.ts`.
 */
import { TEXT_COLUMN, type Span } from "../layout/steps";
import { bracketPath, brackets, covers, DETAILED_COLUMN, memoryCurves, ROWS, scaleFor, spanAround, type Bracket } from "../layout/timeline";
import { formatBytes, type Messages } from "../model/messages";
import type { Outline } from "../model/outline";
import { LAYERS, type State } from "../model/state";
import type { Trace } from "../schema/trace.gen";
import { el, svg } from "./dom";
import { layerIcon } from "./icons";
import { StepsView } from "./steps";

export class TimelineView extends StepsView {
  private readonly usage = el("span", { class: "usage" });
  private readonly toggle = el("button", { type: "button", class: "small-button timeline-scale" });
  private readonly calls: readonly Bracket[];
  private readonly lanes: number;
  private readonly memory: number;
  private lines = new Map<number, HTMLElement>();
  private marked: HTMLElement | undefined;
  /** Kept, because asking while views are changing would make the browser lay out the page. */
  private scrolled = 0;
  private whole: boolean | null = null;
  /** Since the band was last brought into sight. */
  private moved = false;

  constructor(
    outline: Outline,
    messages: Messages,
    controls: HTMLElement,
    /** Buttons of others, in the header. */
    private readonly tools: HTMLElement,
  ) {
    const calls = brackets(outline.steps);
    const lanes = calls.reduce((most, call) => Math.max(most, call.lane + 1), 0);
    // Brackets take their room from the curve: the timeline is as high with calls as without.
    const above = lanes === 0 ? 0 : lanes * ROWS.lane + 3;
    const top = ROWS.label + above;
    const memory = Math.max(0, ROWS.memory - above);
    super(outline, messages, controls, { top, track: ROWS.track, inset: 3, height: top + LAYERS.length * ROWS.track + 4 + memory });
    this.calls = calls;
    this.lanes = lanes;
    this.memory = memory;
  }

  override mount(root: HTMLElement, trace: Trace): void {
    super.mount(root, trace);
    this.scroll.addEventListener("scroll", () => {
      this.scrolled = this.scroll.scrollLeft;
      this.cover();
    });
    this.toggle.addEventListener("click", () => {
      this.whole = !this.isWhole();
      this.draw();
    });
  }

  override show(state: State): void {
    this.moved ||= this.state?.step !== state.step;
    super.show(state);
    const devices = [...state.alive].map(([device, bytes]) => {
      return this.messages.text("ui.timeline.device", { device, bytes });
    });
    this.usage.textContent = this.messages.text("ui.timeline.usage", { devices: devices.join(" · ") || formatBytes(0) });
  }

  settle(): void {
    if (this.moved) this.follow();
    this.moved = false;
  }

  protected override parts(): HTMLElement[] {
    const title = el("h2", {}, this.messages.text("ui.timeline.title"));
    const space = el("span", { class: "space" });
    return [
      el("header", { class: "timeline-header" }, title, this.controls, this.hints(), space, this.usage, this.toggle, this.tools),
      el("div", { class: "timeline-body" }, this.names(), this.scroll),
    ];
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
    column.style.paddingTop = `${this.rows.top}px`;
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

  private isWhole(): boolean {
    return this.whole ?? this.available / this.columns() >= 3;
  }

  protected override draw(): void {
    const columns = this.columns();
    const whole = this.isWhole();
    this.toggle.hidden = this.available / columns >= DETAILED_COLUMN;
    this.toggle.textContent = this.messages.text(whole ? "ui.timeline.detail" : "ui.timeline.whole");
    this.fit(scaleFor(columns, this.available, whole));
    this.scrolled = Math.max(0, Math.min(this.scrolled, this.scale.width - this.available));
    this.drawn = { from: 0, to: 0 };
    this.follow();
    this.cover();
  }

  /** Draws what is near the window, unless it is drawn. */
  private cover(): void {
    const { scale, scrolled, available } = this;
    if (available === 0 || covers(this.drawn, scale, scrolled, available)) return;
    this.paint(spanAround(scale, scrolled, available));
    this.mark();
  }

  protected override under(): SVGElement[] {
    const lines = LAYERS.map((_, row) => {
      const y = this.rows.top + (row + 1) * this.rows.track - 0.5;
      return svg("path", { d: `M0 ${y}H${this.scale.width}` });
    });
    return [svg("g", { class: "timeline-rules" }, ...lines)];
  }

  protected override marks(): { class: string; d: string }[] {
    const { drawn, rows } = this;
    const lanes = Array.from({ length: this.lanes }, (_, lane) => {
      return { class: "bracket", d: bracketPath(this.calls, lane, this.scale, ROWS.label + lane * ROWS.lane + 2.5, drawn) };
    });
    const top = rows.top + LAYERS.length * rows.track + 4;
    const curves = memoryCurves(this.outline, this.scale, top, this.memory, drawn).flatMap((curve) => {
      const kind = curve.device === "cpu" ? "cpu" : "other";
      return [
        { class: `memory-area memory-area-${kind}`, d: curve.area },
        { class: `memory-edge memory-edge-${kind}`, d: curve.edge },
      ];
    });
    return [...lanes, ...super.marks(), ...curves];
  }

  protected override texts(): HTMLElement[] {
    const { column } = this.scale;
    this.lines = column >= DETAILED_COLUMN - 4 ? this.labelled(this.drawn) : new Map<number, HTMLElement>();
    return [...this.lines.values(), ...super.texts()];
  }

  private labelled({ from, to }: Span): Map<number, HTMLElement> {
    const { column } = this.scale;
    return new Map(
      this.outline.steps.slice(from, to).map((step, offset) => {
        const text = el("span", { class: "timeline-label" }, column >= TEXT_COLUMN ? `${step.line} ${step.text}` : String(step.line));
        text.style.left = `${(from + offset) * column}px`;
        text.style.width = `${column}px`;
        return [step.number, text];
      }),
    );
  }

  protected override place(): void {
    super.place();
    this.mark();
  }

  private mark(): void {
    this.marked?.classList.remove("now");
    this.marked = this.lines.get(this.state?.step ?? 0);
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
