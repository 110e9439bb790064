/**
 * Where the steps of a run lie on one scale. Pure: steps and a width in, numbers and paths out.
 *
 * All that has the steps across it shares the scale: column i, from 0, is step i + 1. What pages draw
 * on it beyond the tracks of the layers is in `timeline`.
 */
import type { StepOutline } from "../model/outline";
import type { Layer } from "../model/state";

/** Columns at least this wide show a line's text. */
export const TEXT_COLUMN = 62;
/** Below this a run of steps is drawn as one bar: gaps would say more than they mean. */
const MERGED_COLUMN = 3;

export interface Scale {
  readonly columns: number;
  readonly column: number;
  readonly width: number;
}

/** Some columns, `to` left out. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export const ALL: Span = { from: 0, to: Infinity };

/** The column under a point, kept inside. */
export function columnAt(scale: Scale, x: number): number {
  return Math.min(scale.columns - 1, Math.max(0, Math.floor(x / scale.column)));
}

export function gapOf(column: number): number {
  return column < MERGED_COLUMN ? 0 : Math.min(6, column * 0.14);
}

/** The bars of one track, as one path. */
export function trackPath(steps: readonly StepOutline[], layer: Layer, scale: Scale, top: number, height: number, span = ALL): string {
  const gap = gapOf(scale.column);
  const end = Math.min(steps.length, span.to);
  let path = "";
  for (let index = span.from; index < end; index += 1) {
    if (!steps[index]?.lamps.includes(layer)) continue;
    const from = index;
    if (gap === 0) while (index + 1 < end && steps[index + 1]?.lamps.includes(layer)) index += 1;
    const x = from * scale.column + gap;
    path += bar(x, top, Math.max(1, (index + 1) * scale.column - gap - x), height);
  }
  return path;
}

/** A bar with round corners where there is room for them. */
function bar(x: number, y: number, width: number, height: number): string {
  const r = Math.min(4, height / 2, width / 3);
  if (r < 1) return `M${n(x)} ${n(y)}h${n(width)}v${n(height)}h${n(-width)}z`;
  const [w, h] = [n(width - 2 * r), n(height - 2 * r)];
  const a = `a${n(r)} ${n(r)} 0 0 1 `;
  return `M${n(x + r)} ${n(y)}h${w}${a}${n(r)} ${n(r)}v${h}${a}${n(-r)} ${n(r)}h${-Number(w)}${a}${n(-r)} ${n(-r)}v${-Number(h)}${a}${n(r)} ${n(-r)}z`;
}

/** A coordinate as paths write it. */
export function n(value: number): string {
  return String(Math.round(value * 100) / 100);
}
