/**
 * The cells of a storage in one line, in address order, with strides as arrows from cell to cell.
 *
 * What no element reads between the first and the last that are read is a gap, and hatched; what several
 * elements read says how many. Of a long storage only a part is drawn, and which one is said.
 */
import { part, readings, type Jump } from "../../layout/jumps";
import { cellsRead, MOST_LISTED, readerOf } from "../../layout/reads";
import { elementsAt, extent, type Strided } from "../../layout/storage";
import { el, svg } from "../../views/dom";
import { identity } from "../../views/pointing";
import type { Say } from "../../views/view";

/** Which cells another view of the storage reads, told below them in a row of its own. */
export interface Track {
  readonly name: string;
  readonly mark: number;
  covers(cell: number): boolean;
}

export interface Line {
  readonly view: Strided;
  /** In cells of the view's dtype. */
  readonly cells: number;
  readonly cellSize: number;
  readonly address: string;
  /** What a cell holds, in a few characters; empty where it was not recorded. */
  text(cell: number): string;
  readonly hot: (cell: number) => boolean;
  readonly ring: number | null;
  readonly mark: string;
  /** Arrows above the cells, and below. */
  readonly above: readonly Jump[];
  readonly below: readonly Jump[];
  /** Up to `MOST_TRACKS` are drawn. */
  readonly tracks: readonly Track[];
  readonly label: string;
  readonly picked: ((cell: number) => void) | null;
}

const WIDTH = 34;
const HEIGHT = 28;
const ARC = 46;
const MARGIN = 14;
const TICK = 30;
const STRIDE_WORDS = 110;
const TRACK = 15;
const MOST_TRACKS = 6;
const NARROWEST = 190; // room for the words of a stride

export class AddressLine {
  readonly root: HTMLElement;
  private readonly frame = el("div", { class: "address-frame", tabindex: 0, role: "group" });
  private readonly note = el("p", { class: "small mute" });
  private readonly id = `address-${identity(this)}`;
  private line: Line | null = null;
  private revealed: number | null = null;
  private drawn: readonly [number, number] = [0, 0];
  private counted: { readonly view: Strided; readonly cells: number; readonly count: (cell: number) => number; readonly ends: readonly [number, number]; readonly read: number | null } | null = null;

  constructor(private readonly say: Say) {
    this.root = el("div", { class: "address" }, this.frame, this.note);
    const cellOf = (event: Event): number => {
      const target = event.target instanceof Element ? event.target.closest("[data-cell]") : null;
      return target === null ? -1 : Number(target.getAttribute("data-cell"));
    };
    const choose = (event: Event): void => {
      const cell = cellOf(event);
      if (cell >= 0 && cell !== this.line?.ring) this.line?.picked?.(cell);
    };
    this.frame.addEventListener("click", choose);
    this.frame.addEventListener("pointermove", (event) => (event.pointerType === "touch" ? undefined : choose(event)));
  }

  show(line: Line): void {
    this.line = line;
    this.frame.setAttribute("aria-label", line.label);
    const [from, to] = part(line.cells, line.ring ?? line.view.offset);
    this.drawn = [from, to];
    const { count, ends, read } = this.count(line);
    const below = line.below.length > 0 ? ARC : 0;
    const middle = line.above.length > 0 ? ARC : 8;
    const [width, height] = [Math.max(NARROWEST, (to - from) * WIDTH + 2 * MARGIN), middle + HEIGHT + Math.max(TICK, below + 14) + Math.min(MOST_TRACKS, line.tracks.length) * TRACK];
    const picture = svg("svg", { class: "address-line", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": this.words(read, line) });
    picture.append(this.markers());
    const [first, last] = ends;
    for (let cell = from; cell < to; cell++) picture.append(this.cell(line, cell, from, middle, count(cell), cell > first && cell < last, below > 0));
    for (const [jumps, up] of [[line.above, true], [line.below, false]] as const) {
      jumps.forEach((jump, i) => {
        if (jump.from >= from && jump.to < to) picture.append(this.arc(jump, from, up ? middle - 2 : middle + HEIGHT + 2, up, i === 0));
      });
    }
    line.tracks.slice(0, MOST_TRACKS).forEach((track, i) => picture.append(this.track(track, from, to, middle + HEIGHT + Math.max(TICK, below + 14) + i * TRACK)));
    this.frame.replaceChildren(picture);
    const more = line.tracks.length - MOST_TRACKS;
    const rest = more > 0 ? this.say("ui.memory.more", { n: more }) : "";
    this.note.textContent = rest + (to - from < line.cells ? this.say("ui.lens.part", { from, to: to - 1, cells: line.cells }) : "");
    this.note.hidden = this.note.textContent === "";
    // Where it is scrolled to is asked for once all is shown: asking makes the browser lay out the page.
    if (line.ring !== null && this.revealed === null) requestAnimationFrame(() => this.reveal());
    this.revealed = line.ring === null ? null : (line.ring - from) * WIDTH;
  }

  /** How often each cell is read; kept, because pointing asks again and again. */
  private count({ view, cells }: Line): NonNullable<AddressLine["counted"]> {
    if (this.counted?.view === view && this.counted.cells === cells) return this.counted;
    if (cells > MOST_LISTED) {
      const reads = readerOf(view);
      const count = (cell: number): number => (reads(cell) ? elementsAt(view, cell) : 0);
      return (this.counted = { view, cells, count, ends: extent(view) ?? [-1, -1], read: cellsRead(view, cells) });
    }
    const counts = readings(view, cells);
    const ends = [counts.findIndex((n) => n > 0), counts.findLastIndex((n) => n > 0)] as const;
    let read = 0;
    for (const count of counts) if (count > 0) read += 1;
    return (this.counted = { view, cells, count: (cell) => counts[cell] ?? 0, ends, read });
  }

  private cell(line: Line, cell: number, from: number, top: number, count: number, within: boolean, arrowsBelow: boolean): SVGElement {
    const x = MARGIN + (cell - from) * WIDTH;
    const kind = count > 0 ? "read" : within ? "gap" : "outside";
    const hot = line.hot(cell) ? " hot" : "";
    const ring = line.ring === cell ? " ring" : "";
    const box = svg("rect", { x: x + 1, y: top, width: WIDTH - 2, height: HEIGHT, rx: 3, class: `address-${kind}${kind === "read" ? ` ${line.mark}` : ""}${hot}${ring}` });
    if (kind === "read" && line.mark === "mark-5") box.setAttribute("fill", `url(#${this.id}-more)`);
    if (kind === "gap") box.setAttribute("fill", `url(#${this.id}-gap)`);
    const group = svg("g", { "data-cell": cell, "data-count": count }, box);
    const text = line.text(cell);
    if (text !== "") group.append(svg("text", { x: x + WIDTH / 2, y: top + 18, class: `address-value${kind === "read" ? ` read${line.mark === "mark-5" ? " on-hatch" : ""}` : ""}` }, text));
    if (count > 1) group.append(svg("text", { x: x + WIDTH - 4, y: top + 9, class: "address-count" }, `×${count}`));
    const start = BigInt(line.address);
    const every = Math.max(2, Math.floor(16 / line.cellSize));
    if (cell % every === 0 && !arrowsBelow) {
      const where = start === 0n ? "" : `…${(start + BigInt(cell * line.cellSize)).toString(16).slice(-3)}`;
      group.append(svg("text", { x: x + 2, y: top + HEIGHT + 12, class: "address-tick" }, String(cell)));
      group.append(svg("text", { x: x + 2, y: top + HEIGHT + 25, class: "address-tick" }, where));
    }
    return group;
  }

  /** A bar below each cell the view reads, its name in the first; from the fifth view on hatched, with its number. */
  private track({ name, mark, covers }: Track, from: number, to: number, y: number): SVGElement {
    const group = svg("g", { class: "address-track", "data-name": name });
    group.append(svg("title", {}, name));
    let named = false;
    for (let cell = from; cell < to; cell++) {
      if (!covers(cell)) continue;
      const x = MARGIN + (cell - from) * WIDTH;
      const bar = svg("rect", { x: x + 1, y, width: WIDTH - 2, height: TRACK - 2, rx: 2, class: `address-bar mark-${Math.min(5, mark)}`, "data-at": cell });
      if (mark > 4) bar.setAttribute("fill", `url(#${this.id}-more)`);
      group.append(bar);
      const text = named ? (mark > 4 ? String(mark) : "") : name.length > 5 ? `${name.slice(0, 4)}…` : name;
      if (text !== "") group.append(svg("text", { x: x + WIDTH / 2, y: y + TRACK - 4.5, class: mark > 4 ? "address-name on-hatch" : "address-name" }, text));
      named = true;
    }
    return group;
  }

  private arc({ from, to, dim }: Jump, start: number, y: number, up: boolean, first: boolean): SVGElement {
    const middle = (cell: number): number => MARGIN + (cell - start + 0.5) * WIDTH;
    const way = up ? -1 : 1;
    const group = svg("g", { class: "address-jump", "data-from": from, "data-to": to, "data-dim": dim });
    const [a, b] = [middle(from), middle(to)];
    const lift = way * Math.min(ARC - 14, 10 + Math.abs(b - a) * 0.18);
    // A stride of 0 leads back to the cell it came from.
    const path = from === to ? `M ${a - 7} ${y} C ${a - 20} ${y + way * 34} ${a + 20} ${y + way * 34} ${a + 7} ${y}` : `M ${a + 3} ${y} C ${a + 3} ${y + lift * 1.33} ${b - 3} ${y + lift * 1.33} ${b - 3} ${y}`;
    group.append(svg("path", { d: path, "marker-end": `url(#${this.id}-head)` }));
    if (first) {
      const words = this.say("ui.lens.jump", { dim, stride: to - from });
      const room = Math.max(NARROWEST, (this.drawn[1] - start) * WIDTH + 2 * MARGIN) - STRIDE_WORDS;
      group.append(svg("text", { x: Math.max(4, Math.min(a, room)), y: y + way * (ARC - 8) + (up ? 4 : 8), class: "address-stride" }, words));
    }
    return group;
  }

  private markers(): SVGElement {
    const head = svg("marker", { id: `${this.id}-head`, viewBox: "0 0 8 8", refX: 6, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" });
    head.append(svg("path", { d: "M 0 0.5 L 7 4 L 0 7.5 z", class: "address-head" }));
    const gap = svg("pattern", { id: `${this.id}-gap`, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
    gap.append(svg("line", { x1: 0, y1: 0, x2: 0, y2: 6, class: "address-hatch" }));
    const more = svg("pattern", { id: `${this.id}-more`, width: 8, height: 8, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
    more.append(svg("rect", { width: 8, height: 8, class: "address-more" }), svg("line", { x1: 1, y1: 0, x2: 1, y2: 8, class: "address-more-line" }));
    return svg("defs", {}, head, gap, more);
  }

  private words(covered: number | null, { view }: Line): string {
    if (covered === null) return this.say("ui.lens.lineWordsMany", { elements: view.shape.reduce((n, size) => n * size, 1) });
    return this.say("ui.lens.lineWords", { elements: view.shape.reduce((n, size) => n * size, 1), cells: covered });
  }

  private reveal(): void {
    const x = this.revealed;
    this.revealed = null;
    if (x === null) return;
    const { scrollLeft, clientWidth } = this.frame;
    if (x < scrollLeft || x + WIDTH + 2 * MARGIN > scrollLeft + clientWidth) this.frame.scrollLeft = Math.max(0, x - clientWidth / 2);
  }
}
