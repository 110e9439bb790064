/** Colours of the page for a canvas, and how a cell of a field is painted with them. */
import type { FieldCell, FieldModel } from "./field-model";

/** The colours of the page, asked for once a drawing. */
export class Ink {
  readonly mono: string;
  private readonly style: CSSStyleDeclaration;
  private readonly colours = new Map<string, string>();

  constructor(of: Element) {
    this.style = getComputedStyle(of);
    this.mono = this.of("mono");
  }

  of(token: string): string {
    const colour = this.colours.get(token) ?? this.style.getPropertyValue(`--${token}`).trim();
    this.colours.set(token, colour);
    return colour;
  }

  /** One colour for the whole cell: its fill, inked by its shade. */
  cell({ fill, shade }: FieldCell): string {
    const ground = fill === "plain" ? this.of("cell") : fill === "unknown" || fill === "none" ? this.of(fill === "none" ? "card" : "line") : this.of(fill);
    if (shade === null) return ground;
    return mixed(ground, this.of(fill.startsWith("v") ? "vink" : "line3"), 0.1 + 0.7 * shade);
  }
}

/** A painting that is kept until what it follows from is another. */
export class Kept {
  private readonly canvas = document.createElement("canvas");
  private key = "";

  draw(key: string, onto: CanvasRenderingContext2D, width: number, height: number, density: number, paint: (pen: CanvasRenderingContext2D) => void): void {
    const pen = this.canvas.getContext("2d");
    if (pen === null) return;
    if (key !== this.key) {
      [this.canvas.width, this.canvas.height] = [Math.round(width * density), Math.round(height * density)];
      pen.setTransform(density, 0, 0, density, 0, 0);
      paint(pen);
    }
    this.key = key;
    onto.drawImage(this.canvas, 0, 0, width, height);
  }
}

/** Draws one cell: its fill, and its frame where it changed or is the ring's cell of memory. */
export function paint(pen: CanvasRenderingContext2D, ink: Ink, cell: FieldCell, [x, y, w, h]: readonly [number, number, number, number], words: boolean): void {
  pen.fillStyle = words && cell.hatched !== true ? ink.cell({ ...cell, shade: null }) : ink.cell(cell);
  pen.fillRect(x, y, w, h);
  if ((cell.fill === "unknown" || cell.hatched === true) && h > 8) hatch(pen, ink.of("card"), [x, y, w, h], cell.hatched === true ? 1 : 2);
  if (cell.hot || cell.twin) {
    pen.strokeStyle = ink.of(cell.hot ? "data" : "ink");
    pen.lineWidth = 2;
    if (!cell.hot) pen.setLineDash([3, 2]);
    pen.strokeRect(x + 1, y + 1, w - 2, h - 2);
    pen.setLineDash([]);
  }
}

/** Lines where a part that a step changed ends, among the cells in sight: columns and rows, the last ones included. */
export function frame(pen: CanvasRenderingContext2D, colour: string, model: FieldModel, [left, right, top, bottom]: readonly [number, number, number, number], box: (row: number, column: number) => readonly [number, number, number, number]): void {
  const framed = (row: number, column: number): boolean => row >= 0 && column >= 0 && row < model.rows && column < model.columns && model.framed?.(row, column) === true;
  pen.fillStyle = colour;
  for (let row = top; row <= bottom; row++) {
    for (let column = left; column <= right; column++) {
      if (!framed(row, column)) continue;
      const [x, y, w, h] = box(row, column);
      if (!framed(row - 1, column)) pen.fillRect(x, y, w, 2);
      if (!framed(row + 1, column)) pen.fillRect(x, y + h - 2, w, 2);
      if (!framed(row, column - 1)) pen.fillRect(x, y, 2, h);
      if (!framed(row, column + 1)) pen.fillRect(x + w - 2, y, 2, h);
    }
  }
}

/** The ring, at least as large as can be seen. */
export function drawRing(pen: CanvasRenderingContext2D, ink: Ink, [left, top, width, height]: readonly [number, number, number, number]): void {
  const [w, h] = [Math.max(8, width), Math.max(8, height)];
  for (const [colour, line] of [["card", 4.5], ["ink", 2]] as const) {
    pen.strokeStyle = ink.of(colour);
    pen.lineWidth = line;
    pen.strokeRect(left + (width - w) / 2, top + (height - h) / 2, w, h);
  }
}

/** Not a colour alone: what has no value is hatched. */
function hatch(pen: CanvasRenderingContext2D, colour: string, [x, y, w, h]: readonly [number, number, number, number], line: number): void {
  pen.save();
  pen.beginPath();
  pen.rect(x, y, w, h);
  pen.clip();
  pen.strokeStyle = colour;
  pen.lineWidth = line;
  pen.beginPath();
  for (let at = x - h; at < x + w; at += 7) {
    pen.moveTo(at, y + h);
    pen.lineTo(at + h, y);
  }
  pen.stroke();
  pen.restore();
}

const blends = new Map<string, string>();

function mixed(from: string, to: string, share: number): string {
  const key = `${from} ${to} ${Math.round(share * 63)}`;
  const known = blends.get(key);
  if (known !== undefined) return known;
  const [a, b] = [channels(from), channels(to)];
  const made = `rgb(${[0, 1, 2].map((c) => Math.round((a[c] ?? 0) * (1 - share) + (b[c] ?? 0) * share)).join()})`;
  blends.set(key, made);
  return made;
}

function channels(hex: string): number[] {
  const digits = hex.replace("#", "");
  const full = digits.length === 3 ? [...digits].map((digit) => digit + digit).join("") : digits;
  return [0, 2, 4].map((at) => Number.parseInt(full.slice(at, at + 2), 16) || 0);
}

/** A number from 0 to 1 for a place: the same each time, evenly spread, without a pattern. */
export function scattered(x: number, y: number): number {
  let mixed = Math.imul(x, 0x9e3779b1) ^ Math.imul(y, 0x85ebca77);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d);
  mixed = Math.imul(mixed ^ (mixed >>> 12), 0x297a2d39);
  return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
}
