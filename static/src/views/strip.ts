/**
 * The cells of a storage in one line of addresses, folded where the panel ends.
 *
 * Below a shared storage's grid it is small and shows numbers; alone (`Strip`) it shows values and
 * takes the keyboard.
 */
import { el } from "./dom";
import type { Say } from "./view";

// As in memory.css.
const HEIGHT = 44;
const HEIGHT_ALONE = 58;
const LINE = 16;
const WIDEST = 496;

export class Strip {
  readonly root: HTMLElement;
  readonly cells: HTMLElement[] = [];
  private readonly values: HTMLElement[] = [];

  constructor(measures: StripMeasures, storage: number, cellSize: number, address: string, say: Say) {
    const row = el("div", { class: "strip-row", role: "row" });
    const every = Math.max(1, Math.floor(16 / cellSize));
    const start = BigInt(address);
    for (let cell = 0; cell < measures.count; cell++) {
      const tick = cell % every === 0 && start !== 0n;
      const where = tick ? `…${(start + BigInt(cell * cellSize)).toString(16).slice(-3)}` : null;
      const value = el("span", { class: "strip-value" });
      const inside = el("span", { class: "strip-box" }, el("span", { class: "strip-number" }, String(cell)), value);
      const box = el("span", { class: "strip-cell", role: "gridcell", tabindex: -1 }, inside, where === null ? null : el("span", { class: "tick" }, where));
      this.values.push(value);
      this.cells.push(box);
      row.append(box);
    }
    this.root = el("div", { class: "strip", role: "grid", "aria-label": say("ui.memory.gridLabel", { storage: `S${storage}` }) }, row);
    const { style } = this.root;
    style.setProperty("--each", `${measures.each}px`);
    style.setProperty("--line", String(measures.perLine));
    style.setProperty("--each-alone", `${measures.eachAlone}px`);
    style.setProperty("--line-alone", String(measures.perLineAlone));
    style.setProperty("--font", `${measures.font}px`);
  }

  /** Beside a grid it repeats what the grid says, and is hidden from the keyboard and from readers of the screen. */
  alone(alone: boolean, ring: number): void {
    if (alone) this.root.removeAttribute("aria-hidden");
    else this.root.setAttribute("aria-hidden", "true");
    this.cells.forEach((cell, i) => {
      const index = alone && i === Math.max(0, ring) ? 0 : -1;
      if (cell.tabIndex !== index) cell.tabIndex = index;
    });
  }

  dress(cell: number, className: string, text: string): void {
    const box = this.cells[cell];
    const value = this.values[cell];
    if (box !== undefined) box.className = `strip-cell${className}`;
    if (value !== undefined) value.textContent = text;
  }
}

export interface StripMeasures {
  readonly count: number;
  /** Cells per line and width of one below a grid, and alone. */
  readonly perLine: number;
  readonly each: number;
  readonly perLineAlone: number;
  readonly eachAlone: number;
  readonly font: number;
  readonly size: readonly [number, number];
  readonly sizeAlone: readonly [number, number];
}

/** How large the strip of a storage is, beside a grid of some width. */
export function stripMeasures(count: number, gridWidth: number, cellWidth: number, font: number): StripMeasures {
  const perLine = Math.min(LINE, Math.max(1, count));
  const each = Math.max(20, Math.min(30, Math.floor((gridWidth + 2) / perLine)));
  const eachAlone = cellWidth + 2;
  // A power of two, so that lines begin at round addresses.
  const fitting = 2 ** Math.floor(Math.log2(Math.max(1, WIDEST / eachAlone)));
  const perLineAlone = Math.min(Math.max(1, count), fitting);
  return {
    count,
    perLine,
    each,
    perLineAlone,
    eachAlone,
    font,
    size: [perLine * each, Math.ceil(count / perLine) * HEIGHT],
    sizeAlone: [perLineAlone * eachAlone, Math.ceil(count / perLineAlone) * HEIGHT_ALONE],
  };
}
