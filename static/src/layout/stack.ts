/**
 * Bytes over time as stacked areas: one band per kind of holder, on the scale of the steps. Pure.
 */
import { HOLDER_KINDS, type DeviceHoldings, type HolderKind } from "./holdings";
import { ALL, n, type Scale, type Span } from "./steps";

/** Where a stack is drawn. `most` reaches its top, but for some air. */
export interface Field {
  readonly top: number;
  readonly height: number;
  readonly most: number;
}

export interface Stack {
  readonly bands: readonly { readonly kind: HolderKind; readonly area: string }[];
  /** The upper edge of all of them. */
  readonly edge: string;
  /** What was alive while a step ran and not after it, above the edge. */
  readonly within: string;
}

/** Air above the highest point. */
const AIR = 4;

/** Several devices as one. What was reached while a step ran is known per device alone. */
export function together(devices: readonly DeviceHoldings[]): DeviceHoldings {
  const [first] = devices;
  if (devices.length === 1 && first !== undefined) return first;
  const sum = (courses: readonly (readonly number[])[]): number[] => {
    return Array.from({ length: courses[0]?.length ?? 1 }, (_, step) => courses.reduce((all, course) => all + (course[step] ?? 0), 0));
  };
  const kinds = Object.fromEntries(HOLDER_KINDS.map((kind) => [kind, sum(devices.map((each) => each.kinds[kind]))])) as Record<HolderKind, number[]>;
  const total = sum(devices.map((each) => each.total));
  const bytes = total.reduce((most, each) => Math.max(most, each), 0);
  return { device: "", kinds, total, within: total, peak: { bytes, step: bytes === 0 ? 0 : total.indexOf(bytes), within: false } };
}

/** The height a number of bytes reaches. */
export function heightOf({ top, height, most }: Field, bytes: number): number {
  return top + height - (most === 0 ? 0 : (bytes / most) * (height - AIR));
}

/** The stack of a device. */
export function stackOf({ kinds, total, within }: DeviceHoldings, scale: Scale, field: Field, span = ALL): Stack {
  const y = (bytes: number): number => heightOf(field, bytes);
  let below = new Array<number>(total.length).fill(0);
  const bands = HOLDER_KINDS.flatMap((kind) => {
    const own = kinds[kind];
    if (!own.some((bytes) => bytes > 0)) return [];
    const above = below.map((base, step) => base + (own[step] ?? 0));
    const area = `${stairs(above, scale, y, span)}${stairsBack(below, scale, y, span)}z`;
    below = above;
    return [{ kind, area }];
  });
  return { bands, edge: stairs(total, scale, y, span), within: spikes(total, within, scale, y, span) };
}

/** One bar per step that had more while it ran. */
function spikes(total: readonly number[], within: readonly number[], scale: Scale, y: (bytes: number) => number, { from, to }: Span): string {
  const last = Math.min(total.length - 1, to);
  let path = "";
  for (let step = from + 1; step <= last; step += 1) {
    const [after, most] = [total[step] ?? 0, within[step] ?? 0];
    if (most <= after) continue;
    path += `M${n((step - 1) * scale.column)} ${n(y(after))}V${n(y(most))}h${n(scale.column)}V${n(y(after))}z`;
  }
  return path;
}

function stairs(values: readonly number[], scale: Scale, y: (bytes: number) => number, { from, to }: Span): string {
  const last = Math.min(values.length - 1, to);
  let path = `M${n(from * scale.column)} ${n(y(values[from] ?? 0))}`;
  let before = values[from];
  for (let step = from + 1; step <= last; step += 1) {
    if (values[step] === before) continue;
    path += `H${n((step - 1) * scale.column)}V${n(y(values[step] ?? 0))}`;
    before = values[step];
  }
  return `${path}H${n(last * scale.column)}`;
}

function stairsBack(values: readonly number[], scale: Scale, y: (bytes: number) => number, { from, to }: Span): string {
  const last = Math.min(values.length - 1, to);
  let path = `V${n(y(values[last] ?? 0))}`;
  for (let step = last; step > from + 1; step -= 1) {
    if (values[step] === values[step - 1]) continue;
    path += `H${n((step - 1) * scale.column)}V${n(y(values[step - 1] ?? 0))}`;
  }
  return `${path}H${n(from * scale.column)}`;
}
