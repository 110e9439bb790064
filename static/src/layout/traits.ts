/**
 * What is worth saying of a tensor beside shape, strides and dtype: recorded traits, and two that follow.
 *
 * Twin of `app/schema/traits.py`. The catalogues word them, as `trait.<id>`.
 */
import type { TensorNow } from "../model/state";
import type { TensorTrait, TensorView } from "../schema/trace.gen";
import { numel, strided } from "./storage";

const MOST_COUNTED = 1 << 16;
const overlaps = new WeakMap<TensorView, readonly TensorTrait[]>();

/** All traits of a tensor, in the order they are told. */
export function traitsOf({ view, quantizer, traits }: TensorNow): readonly TensorTrait[] {
  const shared = overlaps.get(view) ?? overlapOf(view);
  overlaps.set(view, shared);
  const quantized = quantizer === null ? [] : [{ id: "quantized", args: { quantizer } }];
  return [...quantized, ...traits, ...shared];
}

function overlapOf(view: TensorView): readonly TensorTrait[] {
  const found = overlap(view);
  return found === null ? [] : [{ id: "overlap", args: { elements: found[0], cells: found[1] } }];
}

/** Elements and the cells they lie in, when some share one; null when none do or it is not known. */
export function overlap(view: TensorView): readonly [number, number] | null {
  const places = strided(view);
  if (places === null || places.shape.includes(0)) return null;
  const moving = places.shape.map((size, d) => ({ size, stride: places.stride[d] ?? 0 })).filter(({ size, stride }) => size > 1 && stride > 0);
  moving.sort((a, b) => a.stride - b.stride);
  let [reach, apart, cells] = [0, true, 1];
  for (const { size, stride } of moving) {
    apart &&= stride > reach;
    reach += (size - 1) * stride;
    cells *= size;
  }
  const counted = apart ? cells : countCells(moving);
  const elements = numel(places.shape);
  return counted === null || counted === elements ? null : [elements, counted];
}

function countCells(moving: readonly { size: number; stride: number }[]): number | null {
  let cells = new Set([0]);
  for (const { size, stride } of moving) {
    if (cells.size * size > MOST_COUNTED) return null;
    cells = new Set([...cells].flatMap((cell) => Array.from({ length: size }, (_, i) => cell + i * stride)));
  }
  return cells.size;
}
