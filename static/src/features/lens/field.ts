/**
 * A grid of any size on a canvas: zoom, pan, an overview, a ring that arrows move.
 *
 * It draws what it is told of each cell and knows no tensor. Words are written where cells have room for
 * them; below that a cell is a shade, and below a pixel the picture takes one of each pixel's cells, now this
 * one and now that, so that every second row does not look like bands: nothing is averaged. The canvas has the
 * size of its window, however many cells there are. Of a grid much longer than wide, or the other way, the
 * short side stays wide enough to be seen.
 *
 * The plain wheel and one finger belong to the page around it; Ctrl + wheel, two fingers, buttons, + and -
 * zoom. The ring's cell is a `gridcell` of words for readers of the screen.
 */
import { el } from "../../views/dom";
import { identity } from "../../views/pointing";
import type { Say } from "../../views/view";
import type { FieldModel } from "./field-model";
import { drawRing, frame, Ink, Kept, paint, scattered } from "./ink";

const HEIGHT = 30;
const FONT = 12.5;
const CHARACTER = 0.602;
const BLOCK_GAP = 8;
const HEAD = 20; // for the numbers of columns, above
const SIDE = 34; // for those of rows, left
const STEP = 1.4;
const LARGEST = 2.2;
const OVERVIEW = 110;
const PULSE_MS = 600;
const WORDS_FROM = 0.62; // scale below which cells have no words
const LEAST = 24; // pixels of a grid's short side
const ROOMY = 300; // the least height of a window on many cells

export class Field {
  readonly root: HTMLElement;
  readonly canvas = el("canvas", { "aria-hidden": "true" });
  private readonly overview = el("canvas", { class: "field-overview", "aria-hidden": "true", hidden: true });
  private readonly window = el("div", { class: "field-window" });
  private readonly label: HTMLElement;
  private readonly tools: HTMLElement;
  private model: FieldModel | null = null;
  private scale = 1;
  private x = 0;
  private y = 0;
  private form = "";
  /** What is to come into sight once the window has a size. */
  private wanted: "whole" | readonly [number, number] | null = null;
  private waiting = false;
  private given = { width: 0, height: 0 };
  private moment = "";
  private readonly dots = new Kept();
  private readonly small = new Kept();
  private pulsing = 0;
  private readonly fingers = new Map<number, PointerEvent>();

  constructor(
    say: Say,
    /** Of the window, in pixels. */
    private readonly highest = 420,
  ) {
    const id = `field-${identity(this)}`;
    this.label = el("div", { class: "visually-hidden", role: "gridcell", id });
    this.window.append(this.canvas, this.overview, el("div", { role: "row" }, this.label));
    for (const [name, value] of Object.entries({ role: "grid", tabindex: "0", "aria-activedescendant": id })) this.window.setAttribute(name, value);
    const button = (word: string, mark: string, act: () => void): HTMLElement => {
      const made = el("button", { type: "button", class: "small-button", "aria-label": say(word), title: say(word) }, mark);
      made.addEventListener("click", act);
      return made;
    };
    this.tools = el(
      "div",
      { class: "field-tools" },
      button("ui.lens.zoomOut", "−", () => this.zoom(1 / this.step())),
      button("ui.lens.zoomIn", "+", () => this.zoom(this.step())),
      button("ui.lens.fit", "⤢", () => this.fit()),
    );
    this.root = el("div", { class: "lens-field" }, this.window, this.tools);
    this.listen();
    new ResizeObserver(() => {
      // Kept, because asking while views are changing would make the browser lay out the page.
      this.given = { width: this.window.clientWidth, height: this.window.clientHeight };
      this.draw();
    }).observe(this.window);
  }

  show(model: FieldModel): void {
    this.model = model;
    this.window.setAttribute("aria-label", model.label);
    this.window.setAttribute("aria-rowcount", String(model.rows));
    this.window.setAttribute("aria-colcount", String(model.columns));
    const form = `${model.rows} ${model.columns} ${model.block} ${model.room} ${model.whole === true}`;
    if (form !== this.form) this.reset();
    this.form = form;
    if (model.moment !== this.moment && !matchMedia("(prefers-reduced-motion: reduce)").matches) this.pulsing = performance.now() + PULSE_MS;
    this.moment = model.moment;
    this.label.textContent = model.ring === null ? "" : model.words(...model.ring);
    this.later();
  }

  /** As large as can be read; large grids begin with their first cells. */
  private reset(): void {
    const whole = this.model?.whole === true;
    this.wanted = whole ? "whole" : null;
    this.scale = 1;
    this.x = 0;
    this.y = 0;
    this.window.style.setProperty("height", `${Math.min(this.height(1) + HEAD + 6, this.highest)}px`);
  }

  private fit(): void {
    this.takeIn();
    this.draw();
  }

  /** All cells in sight. */
  private takeIn(): void {
    const { width, height } = this.size();
    this.scale = Math.min(1, width / this.width(1), height / this.height(1));
    this.x = 0;
    this.y = 0;
  }

  private zoom(factor: number, px = this.size().width / 2, py = this.size().height / 2): void {
    const least = Math.min(1, this.size().width / this.width(1), this.size().height / this.height(1));
    const scale = Math.max(least, Math.min(LARGEST, this.scale * factor));
    const [width, height] = [this.wide(), this.high()];
    this.scale = scale;
    this.x = (this.x + px) * (this.wide() / width) - px;
    this.y = (this.y + py) * (this.high() / height) - py;
    this.draw();
  }

  /** Far away a step is longer: a million cells are a dozen steps from their words. */
  private step(): number {
    return this.scale < 0.2 ? 2 : STEP;
  }

  /** Goes to a cell, so near that its words can be read. */
  near(row: number, column: number): void {
    this.wanted = [row, column];
    this.later();
  }

  private bringWanted(): void {
    const { wanted } = this;
    const { width, height } = this.size();
    this.wanted = null;
    if (wanted === "whole") {
      this.takeIn();
      // As high as the picture then is, with room to see cells from near.
      this.window.style.setProperty("height", `${Math.max(ROOMY, Math.min(this.height(this.scale) + HEAD + 6, this.highest))}px`);
    } else if (wanted !== null) {
      this.scale = 1;
      this.x = (wanted[1] + 0.5) * this.wide() - width / 2;
      this.y = this.top(wanted[0]) + this.high() / 2 - height / 2;
    }
  }

  /** The window's inside, beside the numbers of rows and columns. */
  private size(): { width: number; height: number } {
    return { width: Math.max(1, this.given.width - SIDE), height: Math.max(1, this.given.height - HEAD) };
  }

  private cellWidth(): number {
    return Math.max(30, (this.model?.room ?? 1) * FONT * CHARACTER + 12);
  }

  /** Width of a cell on the page. */
  private wide(scale = this.scale): number {
    const width = this.cellWidth();
    return Math.max(width * scale, Math.min(width, LEAST / (this.model?.columns ?? 1)));
  }

  /** Height of a cell on the page. */
  private high(scale = this.scale): number {
    return Math.max(HEIGHT * scale, Math.min(HEIGHT, LEAST / (this.model?.rows ?? 1)));
  }

  private width(scale: number): number {
    return (this.model?.columns ?? 1) * this.wide(scale);
  }

  private height(scale: number): number {
    const { rows, block } = this.model ?? { rows: 1, block: 0 };
    return rows * this.high(scale) + (block > 0 ? Math.floor((rows - 1) / block) * BLOCK_GAP * scale : 0);
  }

  private top(row: number): number {
    const block = this.model?.block ?? 0;
    return row * this.high() + (block > 0 ? Math.floor(row / block) * BLOCK_GAP * this.scale : 0);
  }

  private rowAt(y: number): number {
    const block = this.model?.block ?? 0;
    if (block === 0) return Math.floor(y / this.high());
    const each = block * this.high() + BLOCK_GAP * this.scale;
    const within = Math.min(block - 1, Math.floor((y % each) / this.high()));
    return Math.floor(y / each) * block + within;
  }

  private later(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  /** Where a cell stands in the window: left, top, width, height; for tests too. */
  box(row: number, column: number): readonly [number, number, number, number] {
    const width = this.wide();
    return [SIDE + column * width - this.x, HEAD + this.top(row) - this.y, width, this.high()];
  }

  private draw(): void {
    const { model, window: frame, canvas } = this;
    const { width: wide, height: high } = this.given;
    const pen = canvas.getContext("2d");
    if (model === null || wide === 0 || high === 0 || pen === null) return;
    const density = Math.max(1, devicePixelRatio);
    this.bringWanted();
    const inside = this.size();
    this.x = Math.max(0, Math.min(this.x, this.width(this.scale) - inside.width));
    this.y = Math.max(0, Math.min(this.y, this.height(this.scale) - inside.height));
    if (canvas.width !== Math.round(wide * density)) canvas.width = Math.round(wide * density);
    if (canvas.height !== Math.round(high * density)) canvas.height = Math.round(high * density);
    canvas.style.setProperty("width", `${wide}px`);
    canvas.style.setProperty("height", `${high}px`);
    pen.setTransform(density, 0, 0, density, 0, 0);
    const ink = new Ink(frame);
    pen.fillStyle = ink.of("card");
    pen.fillRect(0, 0, wide, high);
    pen.save();
    pen.beginPath();
    pen.rect(SIDE, HEAD, wide, high);
    pen.clip();
    if (this.wide() < 3 || this.high() < 3) {
      const key = [model.picture, this.form, this.scale, this.x, this.y, wide, high, density, ink.of("card")].join("|");
      this.dots.draw(key, pen, wide, high, density, (copy) => this.drawDots(copy, model, ink, wide, high));
    }
    else this.drawCells(pen, model, ink, wide, high);
    if (model.ring !== null) drawRing(pen, ink, this.box(...model.ring));
    pen.restore();
    this.drawNumbers(pen, model, ink, wide, high);
    this.drawOverview(model, ink);
    canvas.dataset["scale"] = this.scale.toFixed(4);
    canvas.dataset["box"] = JSON.stringify(this.box(0, 0));
    canvas.dataset["gap"] = JSON.stringify([model.block, BLOCK_GAP * this.scale]);
  }

  private drawCells(pen: CanvasRenderingContext2D, model: FieldModel, ink: Ink, wide: number, high: number): void {
    const [width, height] = [this.wide(), this.high()];
    const gap = height > 14 ? 2 : height > 6 ? 1 : 0;
    const words = this.scale >= WORDS_FROM;
    const font = FONT * Math.min(1.25, this.scale);
    const left = this.pulsing - performance.now();
    const pulse = left > 0 ? 0.25 + 0.75 * (1 - ((left % (PULSE_MS / 2)) / (PULSE_MS / 2))) : 1;
    let hot = false;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    const firstColumn = Math.max(0, Math.floor(this.x / width));
    const lastColumn = Math.min(model.columns - 1, Math.floor((this.x + wide) / width));
    const lastRow = Math.min(model.rows - 1, this.rowAt(this.y + high) + 1);
    for (let row = Math.max(0, this.rowAt(this.y)); row <= lastRow; row++) {
      for (let column = firstColumn; column <= lastColumn; column++) {
        const [x, top] = this.box(row, column);
        const cell = model.cell(row, column);
        hot ||= cell.hot;
        pen.globalAlpha = cell.hot ? pulse : 1;
        paint(pen, ink, cell, [x + gap / 2, top + gap / 2, width - gap, height - gap], words);
        if (!words || cell.text === "") continue;
        pen.font = `${cell.hot ? 700 : 500} ${font}px ${ink.mono}`;
        pen.fillStyle = cell.fill.startsWith("v") ? ink.of("vink") : cell.fill === "unknown" ? ink.of("mute") : ink.of("cellink");
        pen.fillText(cell.text, x + width / 2, top + height / 2 + 0.5, width - gap - 2);
      }
    }
    pen.globalAlpha = 1;
    if (model.framed !== undefined) frame(pen, ink.of("data"), model, [firstColumn, lastColumn, Math.max(0, this.rowAt(this.y)), lastRow], (row, column) => this.box(row, column));
    if (hot && left > 0) this.later();
  }

  /** Smaller than a few pixels: the cell in the middle of each pixel of two. */
  private drawDots(pen: CanvasRenderingContext2D, model: FieldModel, ink: Ink, wide: number, high: number): void {
    const size = 2;
    let above: boolean[] = [];
    const blue = ink.of("data");
    const [right, bottom] = [Math.min(wide, SIDE + this.width(this.scale) - this.x), Math.min(high, HEAD + this.height(this.scale) - this.y)];
    for (let y = HEAD; y < bottom; y += size) {
      const row = this.rowAt(y + size / 2 - HEAD + this.y);
      if (row >= model.rows) break;
      const [high, narrow] = [this.high() < size, this.wide() < size];
      let from = SIDE;
      let colour = "";
      const framed: boolean[] = [];
      for (let x = SIDE; x <= right; x += size) {
        const column = Math.floor((x + size / 2 - SIDE + this.x) / this.wide());
        const chance = scattered(x, y);
        const one = high ? Math.min(model.rows - 1, this.rowAt(y + size * chance - HEAD + this.y)) : row;
        const other = narrow ? Math.min(model.columns - 1, Math.floor((x + size * ((chance * 7) % 1) - SIDE + this.x) / this.wide())) : column;
        let next = x >= right || column >= model.columns ? "" : ink.cell(model.cell(one, other));
        if (model.framed !== undefined && next !== "") {
          const [dot, inside] = [framed.length, model.framed(row, column)];
          framed.push(inside);
          // A part's first dots, and those after its last.
          if (inside !== (framed[dot - 1] ?? false) || inside !== (above[dot] ?? false)) next = blue;
        }
        if (next === colour) continue;
        if (colour !== "") {
          pen.fillStyle = colour;
          pen.fillRect(from, y, x - from, size);
        }
        [from, colour] = [x, next];
      }
      if (colour !== "") {
        pen.fillStyle = colour;
        pen.fillRect(from, y, right - from, size);
      }
      above = framed;
    }
  }

  /** Numbers of rows and columns, where they have room. */
  private drawNumbers(pen: CanvasRenderingContext2D, model: FieldModel, ink: Ink, wide: number, high: number): void {
    pen.fillStyle = ink.of("mute");
    pen.font = `11px ${ink.mono}`;
    pen.textBaseline = "middle";
    const [width, height] = [this.wide(), this.high()];
    const everyColumn = Math.max(1, 2 ** Math.ceil(Math.log2((String(model.columns).length * 7 + 10) / width)));
    pen.textAlign = "center";
    for (let c = Math.ceil(this.x / width / everyColumn) * everyColumn; c < model.columns; c += everyColumn) {
      const at = SIDE + (c + 0.5) * width - this.x;
      if (at > wide - 4) break;
      if (at >= SIDE) pen.fillText(String(c), at, HEAD / 2);
    }
    const rows = model.block > 0 ? model.block : model.rows;
    const everyRow = Math.max(1, 2 ** Math.ceil(Math.log2(16 / height)));
    pen.textAlign = "right";
    for (let r = Math.max(0, Math.floor(this.rowAt(this.y) / everyRow) * everyRow); r < model.rows; r += everyRow) {
      const at = HEAD + this.top(r) + height / 2 - this.y;
      if (at > high) break;
      if (at >= HEAD + 4) pen.fillText(String(r % rows), SIDE - 6, at);
    }
  }

  /** The whole grid small, with the window on it, where there is more than the window shows. */
  private drawOverview(model: FieldModel, ink: Ink): void {
    const inside = this.size();
    const [whole, tall] = [this.width(this.scale), this.height(this.scale)];
    const larger = whole > inside.width * 1.5 || tall > inside.height * 1.5;
    this.overview.hidden = !larger;
    if (!larger) return;
    const fit = Math.min(OVERVIEW, inside.width / 4, inside.height / 2) / Math.max(whole, tall);
    const [width, height] = [Math.max(4, Math.round(whole * fit)), Math.max(4, Math.round(tall * fit))];
    [this.overview.width, this.overview.height] = [width, height];
    const pen = this.overview.getContext("2d");
    if (pen === null) return;
    const key = [model.picture, this.form, width, height, ink.of("card")].join("|");
    this.small.draw(key, pen, width, height, 1, (copy) => {
      for (let y = 0; y < height; y++) {
        const row = Math.min(model.rows - 1, Math.floor(((y + 0.5) / height) * model.rows));
        for (let x = 0; x < width; x++) {
          copy.fillStyle = ink.cell(model.cell(row, Math.min(model.columns - 1, Math.floor(((x + 0.5) / width) * model.columns))));
          copy.fillRect(x, y, 1, 1);
        }
      }
    });
    pen.strokeStyle = ink.of("ink");
    pen.lineWidth = 1.5;
    pen.strokeRect(this.x * fit + 0.75, this.y * fit + 0.75, Math.max(3, Math.min(width - 1.5, inside.width * fit)), Math.max(3, Math.min(height - 1.5, inside.height * fit)));
  }

  private cellAt(event: { clientX: number; clientY: number }): readonly [number, number] | null {
    const { model } = this;
    const frame = this.window.getBoundingClientRect();
    const [x, y] = [event.clientX - frame.left - SIDE, event.clientY - frame.top - HEAD];
    if (model === null || x < 0 || y < 0) return null;
    const [row, column] = [this.rowAt(y + this.y), Math.floor((x + this.x) / this.wide())];
    return row < model.rows && column < model.columns ? [row, column] : null;
  }

  private pick(at: readonly [number, number] | null): void {
    const ring = this.model?.ring;
    if (at === null || (ring?.[0] === at[0] && ring[1] === at[1])) return;
    this.model?.picked(...at);
  }

  private reveal(row: number, column: number): void {
    const [left, top, width, height] = this.box(row, column);
    const frame = this.size();
    if (left < SIDE) this.x -= SIDE - left;
    else if (left + width > frame.width + SIDE) this.x += left + width - frame.width - SIDE;
    if (top < HEAD) this.y -= HEAD - top;
    else if (top + height > frame.height + HEAD) this.y += top + height - frame.height - HEAD;
  }

  private listen(): void {
    const { window: frame, fingers } = this;
    frame.addEventListener("keydown", (event) => this.key(event));
    frame.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const box = frame.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY / 300), event.clientX - box.left - SIDE, event.clientY - box.top - HEAD);
    }, { passive: false });
    frame.addEventListener("pointerdown", (event) => {
      fingers.set(event.pointerId, event);
      if (event.pointerType === "touch" && fingers.size < 2) return;
      frame.setPointerCapture(event.pointerId);
    });
    frame.addEventListener("pointermove", (event) => {
      const before = fingers.get(event.pointerId);
      if (before === undefined) {
        if (event.pointerType !== "touch") this.pick(this.cellAt(event));
        return;
      }
      const other = [...fingers.values()].find((each) => each.pointerId !== event.pointerId);
      if (other !== undefined) {
        const apart = (from: PointerEvent): number => Math.hypot(from.clientX - other.clientX, from.clientY - other.clientY);
        const box = frame.getBoundingClientRect();
        this.zoom(apart(event) / Math.max(1, apart(before)), (event.clientX + other.clientX) / 2 - box.left - SIDE, (event.clientY + other.clientY) / 2 - box.top - HEAD);
      } else if (event.pointerType !== "touch") {
        this.x -= event.clientX - before.clientX;
        this.y -= event.clientY - before.clientY;
        this.draw();
      }
      fingers.set(event.pointerId, event);
    });
    const up = (event: PointerEvent): void => void fingers.delete(event.pointerId);
    for (const name of ["pointerup", "pointercancel", "lostpointercapture"] as const) frame.addEventListener(name, up);
    frame.addEventListener("click", (event) => this.pick(this.cellAt(event)));
    this.overview.addEventListener("click", (event) => {
      event.stopPropagation();
      const box = this.overview.getBoundingClientRect();
      const inside = this.size();
      this.x = ((event.clientX - box.left) / box.width) * this.width(this.scale) - inside.width / 2;
      this.y = ((event.clientY - box.top) / box.height) * this.height(this.scale) - inside.height / 2;
      this.draw();
    });
  }

  private key(event: KeyboardEvent): void {
    const { model } = this;
    if (model === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const [row, column] = model.ring ?? [0, 0];
    const page = Math.max(1, Math.floor(this.size().height / this.high()) - 1);
    const moves: Readonly<Record<string, readonly [number, number]>> = {
      ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1],
      ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column],
      Home: [row, 0],
      End: [row, model.columns - 1],
      PageUp: [row - page, column],
      PageDown: [row + page, column],
    };
    const to = moves[event.key];
    if (to !== undefined) {
      const [r, c] = [Math.max(0, Math.min(model.rows - 1, to[0])), Math.max(0, Math.min(model.columns - 1, to[1]))];
      this.reveal(r, c);
      this.pick([r, c]);
    } else if (event.key === "+" || event.key === "=") this.zoom(this.step());
    else if (event.key === "-") this.zoom(1 / this.step());
    else if (event.key === "0") this.fit();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
