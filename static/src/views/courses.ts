/**
 * Bytes over time on the timeline: stacks by what keeps them, peaks, and copies between devices as arrows.
 *
 * Closed it is one stack of all devices; open, a lane per device. Coordinates come from `layout/stack.ts`
 * and `layout/timeline.ts`; the timeline says where it lies and what is in sight.
 */
import { HOLDER_KINDS, type DeviceHoldings, type HolderKind } from "../layout/holdings";
import type { Copy } from "../layout/transfers";
import { heightOf, stackOf, together, type Field } from "../layout/stack";
import type { Scale, Span } from "../layout/steps";
import { arrowPath, arrowsOf, ROWS, type Arrow } from "../layout/timeline";
import { formatBytes } from "../model/messages";
import { endsOf } from "./copies";
import { el, svg, type Attributes } from "./dom";
import { goTo, type Say } from "./view";

/** Columns narrower than this have no room for the bytes of a copy. */
const LABELLED = 44;

/** One lane: a device, or all of them. */
interface Course {
  readonly holdings: DeviceHoldings;
  readonly field: Field;
}

export interface Whole {
  readonly holdings: readonly DeviceHoldings[];
  readonly transfers: readonly Copy[];
  /** Lines with a note that data goes to and fro. */
  readonly fro: ReadonlySet<number>;
  readonly simulated: boolean;
  readonly say: Say;
  /** To a peak, where everything that was alive is listed. */
  readonly toPeak: (step: number) => void;
}

let patterns = 0;

export class Courses {
  private readonly id: string;
  private readonly all: DeviceHoldings;
  private courses: readonly Course[] = [];
  /** Between the first top and the last bottom. */
  height = 0;

  constructor(private readonly whole: Whole) {
    patterns += 1;
    this.id = `held-${patterns}`;
    this.all = together(whole.holdings);
  }

  /** Lays the lanes out below `top`: one of a height, or one per device, each on a scale of its own. */
  place(top: number, closed: number | null): void {
    const { holdings } = this.whole;
    if (closed !== null || holdings.length === 0) {
      this.height = closed ?? ROWS.alone;
      this.courses = [{ holdings: this.all, field: { top, height: this.height, most: this.all.peak.bytes } }];
      return;
    }
    const height = holdings.length === 1 ? ROWS.alone : ROWS.device;
    this.courses = holdings.map((each, lane) => ({ holdings: each, field: { top: top + lane * (height + ROWS.gap), height, most: each.peak.bytes } }));
    this.height = holdings.length * (height + ROWS.gap) - ROWS.gap;
  }

  /** The grounds of the kinds: a pattern each, so that they differ without colour. */
  definitions(): SVGElement {
    const pattern = (kind: HolderKind, ...marks: SVGElement[]): SVGElement => {
      const attributes = { id: `${this.id}-${kind}`, class: `held held-${kind}`, width: 6, height: 6, patternUnits: "userSpaceOnUse" };
      return svg("pattern", attributes, svg("rect", { width: 6, height: 6 }), ...marks);
    };
    return svg(
      "defs",
      {},
      pattern("named"),
      pattern("optimizer", svg("path", { d: "M0 1.5H6M0 4.5H6" })),
      pattern("gradient", svg("path", { d: "M-1 7 7 -1M-1 1 1 -1M5 7 7 5" })),
      pattern("saved", svg("circle", { cx: 1.5, cy: 1.5, r: 1 }), svg("circle", { cx: 4.5, cy: 4.5, r: 1 })),
      pattern("other", svg("path", { d: "M0 0 6 6M6 0 0 6" })),
    );
  }

  /** The ground of a kind in a drawing elsewhere on the page. */
  fill(kind: HolderKind): string {
    return `url(#${this.id}-${kind})`;
  }

  marks(scale: Scale, span: Span): Attributes[] {
    return this.courses.flatMap(({ holdings, field }) => {
      const { bands, edge, within } = stackOf(holdings, scale, field, span);
      return [
        ...bands.map(({ kind, area }) => ({ class: `held-area held-area-${kind}`, d: area, fill: this.fill(kind) })),
        { class: "held-within", d: within },
        { class: "held-edge", d: edge },
      ];
    });
  }

  /** Lines under the lanes of an open timeline, and the copies between them. */
  under(scale: Scale): SVGElement[] {
    const floors = this.courses.map(({ field }) => svg("path", { d: `M0 ${field.top + field.height + 0.5}H${scale.width}` }));
    return [svg("g", { class: "timeline-rules" }, ...floors)];
  }

  arrows(scale: Scale): Arrow<Copy>[] {
    if (this.courses.length < 2) return [];
    const lanes = new Map(
      this.courses.map(({ holdings, field }) => [holdings.device, { top: field.top + field.height * 0.35, bottom: field.top + field.height * 0.8 }]),
    );
    return arrowsOf(this.whole.transfers, scale, lanes);
  }

  arrowMarks(scale: Scale): Attributes[] {
    return this.arrows(scale).map((arrow) => ({ class: this.isFro(arrow) ? "copy-arrow fro" : "copy-arrow", d: arrowPath(arrow) }));
  }

  /** Peaks and bytes of copies, over the picture. For the mouse: the names and the ledger have the same for keys. */
  overlay(scale: Scale, { from, to }: Span): HTMLElement[] {
    const { say, toPeak } = this.whole;
    const peaks = this.courses.flatMap(({ holdings: { device, peak }, field }) => {
      if (peak.step <= from || peak.step > to) return [];
      const title = this.peakText(device, peak.bytes, peak.step, peak.within);
      const mark = el("span", { class: "peak-mark", title }, svg("svg", { viewBox: "0 0 10 8" }, svg("path", { d: "M0 0H10L5 8z" })));
      mark.style.left = `${(peak.step - 0.5) * scale.column}px`;
      mark.style.top = `${heightOf(field, peak.bytes)}px`;
      mark.addEventListener("click", (event) => {
        event.stopPropagation();
        toPeak(peak.step);
      });
      return [mark];
    });
    const copies = this.arrows(scale).flatMap((arrow) => {
      const step = arrow.copies[0]?.step ?? 0;
      if (scale.column < LABELLED || step <= from || step > to) return [];
      const title = arrow.copies.map((copy) => copyText(copy, say)).join("\n");
      const mark = el("span", { class: "copy-mark", title }, `${formatBytes(arrow.nbytes)}${this.isFro(arrow) ? " ↔" : ""}`);
      mark.style.left = `${arrow.x}px`;
      mark.style.top = `${(arrow.from + arrow.to) / 2}px`;
      mark.addEventListener("click", (event) => {
        event.stopPropagation();
        goTo(mark, step);
      });
      return [mark];
    });
    return [...peaks, ...copies];
  }

  private isFro({ copies }: Arrow): boolean {
    return copies.some(({ line }) => line !== null && this.whole.fro.has(line));
  }

  private peakText(device: string, bytes: number, step: number, within: boolean): string {
    const args = { bytes, step, device: device === "" ? "" : device };
    return this.whole.say(within ? "ui.timeline.peakWithin" : "ui.timeline.peakAfter", args);
  }

  /** What stands left of each lane: its name, and its peak as a way there. */
  names(): HTMLElement[] {
    const { say, simulated, toPeak } = this.whole;
    const open = this.courses.length > 1 || this.courses[0]?.field.height === ROWS.alone;
    return this.courses.map(({ holdings: { device, peak }, field }) => {
      const title = this.peakText(device, peak.bytes, peak.step, peak.within);
      const button = el("button", { type: "button", class: "timeline-peak", title }, say("ui.timeline.peak", { bytes: peak.bytes }));
      if (peak.step === 0) button.setAttribute("aria-disabled", "true");
      button.addEventListener("click", () => {
        if (peak.step > 0) toPeak(peak.step);
      });
      const pretends = simulated && device !== "cpu" && device !== "meta" && device !== "";
      const name = el("span", { class: "timeline-device" }, open && device !== "" ? device : say("ui.timeline.memory"));
      const pill = pretends ? el("span", { class: "pill simulated", title: say("ui.devices.note") }, say("ui.simulated")) : null;
      const cell = el("div", { class: "timeline-memory-name" }, name, pill, button);
      cell.style.top = `${field.top}px`;
      cell.style.height = `${field.height}px`;
      return cell;
    });
  }

  /** `step 12: 96 B named, 48 B saved for backward, 144 B in all` */
  tip(step: number): string {
    const { say } = this.whole;
    const parts = HOLDER_KINDS.flatMap((kind) => {
      const bytes = this.all.kinds[kind][step] ?? 0;
      return bytes === 0 ? [] : [`${formatBytes(bytes)} ${say(`ui.held.${kind}`)}`];
    });
    const [after, within] = [this.all.total[step] ?? 0, this.all.within[step] ?? 0];
    if (within > after) parts.push(say("ui.timeline.within", { bytes: within - after }));
    return parts.join(" · ");
  }
}

/** `x → y: 16 KiB, cpu → cuda:0, pinned` */
export function copyText(copy: Copy, say: Say): string {
  const marks = [copy.pinned ? say("ui.devices.pinned") : "", copy.nonBlocking ? "non_blocking" : ""].filter(Boolean);
  return [say("list.label", { label: endsOf(copy, say), text: formatBytes(copy.nbytes) }), say("ui.devices.fromTo", { from: copy.from, to: copy.to }), ...marks].join(say("list.comma"));
}
