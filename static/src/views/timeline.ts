/**
 * The timeline of a page: the tracks of `steps`, calls as brackets, folds, the steps' lines, bytes alive by
 * what keeps them, the life of a storage. Opened, it has a lane per device and beside it where the memory is.
 *
 * Of a run wider than the window only what is near the window is drawn. Coordinates come from
 * `layout/timeline.ts`.
 */
import { storageColours } from "../layout/devices";
import { holdingsOf } from "../layout/holdings";
import { livesOf } from "../layout/lives";
import { TEXT_COLUMN, type Span } from "../layout/steps";
import { bracketPath, brackets, covers, DETAILED_COLUMN, foldedOf, ROWS, scaleFor, spanAround, type Bracket, type Folded } from "../layout/timeline";
import { trafficOf } from "../layout/transfers";
import { formatBytes, type Messages } from "../model/messages";
import type { Outline, StepOutline } from "../model/outline";
import { LAYERS, type Focus, type State } from "../model/state";
import type { Trace } from "../schema/trace.gen";
import { Courses } from "./courses";
import { el, svg, write, type Attributes } from "./dom";
import { layerIcon } from "./icons";
import { Ledger } from "./ledger";
import { LifeRow } from "./life";
import { StepsView } from "./steps";
import { goTo } from "./view";

/** Between the tracks and the bytes, and between those and the life. */
const GAP = 4;
const TO_AND_FRO = "device-ping-pong";

/** What is read from a trace once. */
interface Parts {
  readonly courses: Courses;
  readonly life: LifeRow;
  readonly ledger: Ledger;
}

export class TimelineView extends StepsView {
  private readonly usage = el("span", { class: "usage" });
  private readonly toggle = el("button", { type: "button", class: "small-button timeline-scale" });
  private readonly opener = el("button", { type: "button", class: "small-button timeline-opener", "aria-expanded": "false" });
  private readonly names = el("div", { class: "timeline-names" });
  private readonly calls: readonly Bracket[];
  private readonly folds: readonly Folded[];
  private readonly lanes: number;
  private read: Parts | null = null;
  private root: HTMLElement | null = null;
  private open = false;
  private lines = new Map<number, HTMLElement>();
  private marked: HTMLElement | undefined;
  /** Kept, because asking while views are changing would make the browser lay out the page. */
  private scrolled = 0;
  private whole: boolean | null = null;
  /** Since the band was last brought into sight. */
  private moved = false;
  private focus: Focus | null = null;

  constructor(
    outline: Outline,
    messages: Messages,
    controls: HTMLElement,
    /** Buttons of others, in the header. */
    private readonly tools: HTMLElement,
  ) {
    const calls = brackets(outline.steps);
    const folds = foldedOf(outline.steps);
    const lanes = calls.reduce((most, call) => Math.max(most, call.lane + 1), 0);
    // Brackets take their room from the curve: the timeline is as high with calls as without.
    const above = lanes === 0 ? 0 : lanes * ROWS.lane + 3;
    super(outline, messages, controls, { top: ROWS.label + above, track: ROWS.track, inset: 2.5, height: 0 });
    this.calls = calls;
    this.folds = folds;
    this.lanes = lanes;
  }

  override mount(root: HTMLElement, trace: Trace): void {
    const say = this.messages.text;
    const lives = livesOf(trace);
    const holdings = holdingsOf(trace, this.outline).filter(({ device }) => device !== "meta");
    const traffic = trafficOf(trace, lives);
    const colours = storageColours(lives);
    const fro = new Set(trace.notes.filter((note) => note.class === TO_AND_FRO).map(({ line }) => line));
    const { simulated } = trace.environment;
    const toPeak = (step: number): void => {
      goTo(this.scroll, step);
      this.setOpen(true);
    };
    const courses = new Courses({ holdings, transfers: traffic.copies, fro, simulated, say, toPeak });
    const life = new LifeRow(trace, lives, this.outline, colours, say);
    const ledger = new Ledger(holdings, traffic, fro, colours, (kind) => courses.fill(kind), simulated, say);
    this.read = { courses, life, ledger };
    this.root = root;
    this.layOut();
    super.mount(root, trace);
    this.scroll.addEventListener("scroll", () => {
      this.scrolled = this.scroll.scrollLeft;
      this.cover();
    });
    this.toggle.addEventListener("click", () => {
      this.whole = !this.isWhole();
      this.draw();
    });
    this.opener.addEventListener("click", () => this.turn());
    this.canvas.addEventListener("pointerleave", () => ledger.preview(null));
  }

  override show(state: State, focus?: Focus): void {
    this.moved ||= this.state?.step !== state.step;
    this.focus = focus ?? this.focus;
    super.show(state);
    const devices = [...state.alive].map(([device, bytes]) => {
      return this.messages.text("ui.timeline.device", { device, bytes });
    });
    this.usage.title = this.messages.text("ui.timeline.usage", { devices: devices.join(" · ") || formatBytes(0) });
    write(this.usage, this.usage.title);
    if (this.read === null || this.focus === null) return;
    this.read.life.show(state, this.focus);
    if (this.open) this.list();
  }

  settle(): void {
    if (this.moved) this.follow();
    this.moved = false;
  }

  /** Opens the lanes of the devices and the list of what is alive when they are closed, else closes them. */
  turn(): void {
    this.setOpen(!this.open);
  }

  private setOpen(open: boolean): void {
    if (open === this.open) return;
    this.open = open;
    this.layOut();
    if (this.available > 0) this.draw();
    if (open) this.list();
  }

  private list(): void {
    if (this.read === null || this.state === null || this.focus === null) return;
    this.read.ledger.show(this.state, this.focus, this.read.life.words());
  }

  /** To the previous or next write of the storage that is followed. */
  goToWrite(way: "previous" | "next"): void {
    this.read?.life.go(way);
  }

  /** Heights, from which everything else follows. */
  private layOut(): void {
    const { read: parts, rows, open } = this;
    if (parts === null) return;
    const top = this.memoryTop();
    const above = rows.top - ROWS.label;
    parts.courses.place(top, open ? null : Math.max(0, ROWS.memory - above));
    this.rows = { ...rows, height: this.lifeTop() + ROWS.life };
    this.root?.classList.toggle("open", open);
    this.root?.style.setProperty("--timeline-height", `${this.rows.height}px`);
    this.opener.textContent = this.messages.text("ui.timeline.open");
    this.opener.setAttribute("aria-expanded", String(open));
    this.scroll.style.height = open ? "" : "auto";
    const layers = LAYERS.map((layer, row) => {
      const name = el("span", { class: "timeline-name" }, layerIcon(layer), el("span", {}, this.messages.text(`ui.layer.${layer}`)));
      name.style.top = `${rows.top + row * rows.track}px`;
      return name;
    });
    parts.life.name.style.top = `${this.lifeTop()}px`;
    this.names.replaceChildren(...layers, ...parts.courses.names(), parts.life.name);
    this.names.style.height = `${this.rows.height}px`;
    parts.ledger.root.hidden = !open;
  }

  private memoryTop(): number {
    return this.rows.top + LAYERS.length * this.rows.track + GAP;
  }

  private lifeTop(): number {
    return this.memoryTop() + (this.read?.courses.height ?? 0) + GAP;
  }

  protected override parts(): HTMLElement[] {
    const title = el("h2", {}, this.messages.text("ui.timeline.title"));
    const space = el("span", { class: "space" });
    return [
      el("header", { class: "timeline-header" }, title, this.controls, this.hints(), space, this.usage, this.toggle, this.opener, this.tools),
      el("div", { class: "timeline-body" }, this.names, this.scroll, this.read?.ledger.root ?? null),
    ];
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

  protected override point(event: PointerEvent): void {
    super.point(event);
    if (this.open) this.read?.ledger.preview(this.stepAt(event));
  }

  protected override tip(step: StepOutline): string {
    return [super.tip(step), this.read?.courses.tip(step.number)].filter(Boolean).join("\n");
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
    this.canvas.classList.toggle("wide", this.scale.width > this.available + 1);
    this.read?.life.place(this.scale, this.lifeTop());
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
    const { read: parts, scale, rows } = this;
    const rules = LAYERS.map((_, row) => svg("path", { d: `M0 ${rows.top + (row + 1) * rows.track - 0.5}H${scale.width}` }));
    const hatch = svg("pattern", { id: this.hatchId(), class: "fold-hatch", width: 7, height: 7, patternUnits: "userSpaceOnUse" }, svg("path", { d: "M-1 8 8 -1M-1 1 1 -1M6 8 8 6" }));
    const folded = this.folds.map(({ from, to }) => {
      const [left, width] = [from * scale.column, (to + 1 - from) * scale.column];
      return svg("rect", { class: "fold", x: left, y: rows.top, width, height: LAYERS.length * rows.track, fill: `url(#${this.hatchId()})` });
    });
    return [
      svg("defs", {}, hatch),
      ...(parts === null ? [] : [parts.courses.definitions()]),
      ...folded,
      svg("g", { class: "timeline-rules" }, ...rules),
      ...(parts === null ? [] : [parts.courses.under(scale)].flat()),
      ...(parts === null ? [] : [parts.life.group]),
    ];
  }

  private hatchId(): string {
    return `${this.clip.past}-hatch`;
  }

  protected override marks(): Attributes[] {
    const { drawn, read: parts, scale } = this;
    const lanes = Array.from({ length: this.lanes }, (_, lane) => {
      return { class: "bracket", d: bracketPath(this.calls, lane, scale, ROWS.label + lane * ROWS.lane + 2.5, drawn) };
    });
    const iterations = this.folds.map(({ from, to }) => {
      const [left, right] = [from * scale.column + 1, (to + 1) * scale.column - 1];
      return { class: "bracket bracket-fold", d: `M${left} ${ROWS.label + 2}v-3H${Math.max(left + 1, right)}v3` };
    });
    if (parts === null) return [...lanes, ...iterations, ...super.marks()];
    return [...lanes, ...iterations, ...super.marks(), ...parts.courses.marks(scale, drawn), ...parts.courses.arrowMarks(scale)];
  }

  protected override texts(): HTMLElement[] {
    const { column } = this.scale;
    const { read: parts } = this;
    this.lines = column >= DETAILED_COLUMN - 4 ? this.labelled(this.drawn) : new Map<number, HTMLElement>();
    const memory = parts === null ? [] : [...parts.courses.overlay(this.scale, this.drawn), parts.life.hint];
    return [...this.lines.values(), ...this.counts(), ...super.texts(), ...memory];
  }

  /** `×94` over the iterations that were folded. */
  private counts(): HTMLElement[] {
    const { column } = this.scale;
    return this.folds.flatMap(({ from, to, first, last }) => {
      const width = (to + 1 - from) * column;
      if (to < this.drawn.from || from >= this.drawn.to || width < 28) return [];
      const words = this.messages.text("ui.step.iterations", { first, last });
      const text = el("span", { class: "fold-count", title: words }, `×${last - first + 1}`);
      text.style.left = `${from * column}px`;
      text.style.width = `${width}px`;
      text.style.top = `${this.rows.top + (LAYERS.length - 1) * this.rows.track}px`;
      return [text];
    });
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
