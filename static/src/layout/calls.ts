/**
 * Which PyTorch call turns one view of a storage into another: `x.t()`, `x[1:, ::2]`, `x.unfold(0, 4, 2)`.
 *
 * Pure: a search in a sensible set (indexing, permuting, expanding, cutting anew with `view`, windows,
 * diagonals, and these after one another), each find verified by applying its steps to the strides. What
 * is not found is `torch.as_strided`, which gives every view. Strides of dimensions of size 1 are never
 * used and never compared. Each text found in the tests is run by torch (`tests/data/calls.json`).
 */
import { answerView } from "./rules";
import { indexAt, numel, type Strided } from "./storage";

/** `null` makes a dimension of size 1. */
type Item = number | null | { readonly start: number; readonly size: number; readonly step: number };

type Move =
  | { readonly kind: "index"; readonly items: readonly Item[] }
  | { readonly kind: "permute"; readonly dims: readonly number[] }
  | { readonly kind: "unsqueeze"; readonly dim: number }
  | { readonly kind: "expand"; readonly shape: readonly number[] }
  | { readonly kind: "view"; readonly shape: readonly number[] }
  | { readonly kind: "unfold"; readonly dim: number; readonly size: number; readonly step: number }
  | { readonly kind: "diagonal"; readonly offset: number; readonly dims: readonly [number, number] };

/** A call, and whether it had to be the one that gives every view. */
export interface Call {
  readonly text: string;
  readonly found: boolean;
}

const MOST_DIAGONALS = 24;

/** The shortest call found that gives `target` from `base`, which the program calls `name`. */
export function callFor(base: Strided, target: Strided, name: string): Call {
  const { shape, stride, offset } = target;
  let best: readonly Move[] | null = null;
  if (!shape.includes(0) && !base.shape.includes(0)) {
    for (const moves of candidates(base, target)) {
      const reached = moves.reduce<Strided | null>((view, move) => (view === null ? null : applied(view, move)), base);
      if (reached === null || !sameView(reached, target)) continue;
      if (best === null || cost(moves, base) < cost(best, base)) best = moves;
    }
  } else if (sameView(base, target)) best = [];
  if (best !== null) return { text: textOf(best, base, name), found: true };
  return { text: `torch.as_strided(${name}, ${tuple(shape)}, ${tuple(stride)}, ${offset})`, found: false };
}

/** The same elements at the same indices: strides are compared where they are used. */
export function sameView(a: Strided, b: Strided): boolean {
  return a.shape.length === b.shape.length && a.offset === b.offset && a.shape.every((size, d) => {
    return size === b.shape[d] && (size < 2 || a.stride[d] === b.stride[d]);
  });
}

function* candidates(base: Strided, target: Strided): Iterable<readonly Move[]> {
  yield* indexings(base, target, []);
  for (const move of reshapes(base, target)) yield* after(base, move, target);
  for (const move of diagonals(base, target)) yield* after(base, move, target);
  for (const move of windows(base, target)) yield* after(base, move, target);
  const flat: Move = { kind: "view", shape: [numel(base.shape)] };
  const line = base.shape.length === 1 ? null : applied(base, flat);
  if (line === null) return;
  yield* indexings(line, target, [flat]);
  for (const move of windows(line, target)) {
    const view = applied(line, move);
    if (view !== null) yield* indexings(view, target, [flat, move]);
  }
}

function* after(base: Strided, move: Move, target: Strided): Iterable<readonly Move[]> {
  const view = applied(base, move);
  if (view !== null) yield* indexings(view, target, [move]);
}

/** Shapes to cut the base into first: the target's own, and one whose strides are the target's. */
function reshapes(base: Strided, target: Strided): Move[] {
  const moves: Move[] = [{ kind: "view", shape: target.shape }];
  const elements = numel(base.shape);
  const unit = answerView(base, [elements]).stride?.[0] ?? 0;
  if (unit === 0) return moves;
  const strides = [...new Set(target.stride.filter((step, d) => step > 0 && (target.shape[d] ?? 0) > 1))].sort((a, b) => b - a);
  const shape: number[] = [];
  let rest = elements;
  for (const step of strides) {
    const inner = step / unit;
    if (!Number.isInteger(inner) || rest % inner !== 0) return moves;
    shape.push(rest / inner);
    rest = inner;
  }
  if (rest > 1) shape.push(rest);
  if (shape.length > 0) moves.push({ kind: "view", shape });
  return moves;
}

function diagonals(base: Strided, target: Strided): Move[] {
  const moves: Move[] = [];
  base.stride.forEach((first, a) => {
    base.stride.forEach((second, b) => {
      const along = target.stride.findIndex((step, d) => step === first + second && (target.shape[d] ?? 0) > 1);
      if (a >= b || along < 0) return;
      const [rows, columns] = [base.shape[a] ?? 0, base.shape[b] ?? 0];
      for (let offset = Math.max(1 - rows, -MOST_DIAGONALS); offset < Math.min(columns, MOST_DIAGONALS); offset++) {
        moves.push({ kind: "diagonal", offset, dims: [a, b] });
      }
    });
  });
  return moves;
}

function windows(base: Strided, target: Strided): Move[] {
  const moves: Move[] = [];
  base.stride.forEach((step, dim) => {
    if (step === 0) return;
    target.shape.forEach((size, inner) => {
      if (size < 2 || target.stride[inner] !== step || size > (base.shape[dim] ?? 0)) return;
      target.stride.forEach((apart, outer) => {
        if (outer === inner || (target.shape[outer] ?? 0) < 2 || apart === 0 || apart % step !== 0) return;
        moves.push({ kind: "unfold", dim, size, step: apart / step });
      });
    });
  });
  return moves;
}

/** Ways to index, permute and expand a view into the target, after the moves that led to it. */
function* indexings(from: Strided, target: Strided, before: readonly Move[]): Iterable<readonly Move[]> {
  if (sameView(from, target)) yield before;
  const wanted = target.shape.map((size, dim) => ({ dim, size, stride: size > 1 ? (target.stride[dim] ?? 0) : 0 }));
  for (const chosen of assignments(from, wanted.filter(({ stride }) => stride > 0), wanted.filter(({ stride }) => stride === 0))) {
    const moves = movesOf(from, target, chosen);
    if (moves !== null) yield [...before, ...moves];
  }
}

interface Wanted {
  readonly dim: number;
  readonly size: number;
  readonly stride: number;
}

/** Which dimension of the target each dimension of the source becomes; absent: one index of it is chosen. */
function* assignments(from: Strided, moving: readonly Wanted[], flat: readonly Wanted[]): Iterable<ReadonlyMap<number, Wanted>> {
  const taken = new Map<number, Wanted>();
  function* place(i: number): Iterable<ReadonlyMap<number, Wanted>> {
    const want = moving[i];
    if (want === undefined) {
      yield* placeFlat(0);
      return;
    }
    for (let d = 0; d < from.shape.length; d++) {
      const step = from.stride[d] ?? 0;
      if (taken.has(d) || step === 0 || want.stride % step !== 0) continue;
      if ((want.size - 1) * (want.stride / step) >= (from.shape[d] ?? 0)) continue;
      taken.set(d, want);
      yield* place(i + 1);
      taken.delete(d);
    }
  }
  function* placeFlat(i: number): Iterable<ReadonlyMap<number, Wanted>> {
    const want = flat[i];
    if (want === undefined) {
      yield new Map(taken);
      return;
    }
    for (let d = 0; d < from.shape.length; d++) {
      if (taken.has(d)) continue;
      taken.set(d, want);
      yield* placeFlat(i + 1);
      taken.delete(d);
    }
    yield* placeFlat(i + 1); // a dimension of its own
  }
  yield* place(0);
}

function movesOf(from: Strided, target: Strided, chosen: ReadonlyMap<number, Wanted>): Move[] | null {
  const taken = from.shape.map((size, d) => {
    const want = chosen.get(d);
    const stride = from.stride[d] ?? 0;
    if (want === undefined) return { size: 1, step: 1, room: size };
    // What repeats one element is one element, or as many of an expanded dimension.
    const kept = want.stride > 0 ? want.size : stride === 0 && size >= want.size ? want.size : 1;
    const step = want.stride > 0 ? want.stride / stride : 1;
    return { size: kept, step, room: size - (kept - 1) * step };
  });
  const start = indexAt({ shape: taken.map(({ room }) => room), stride: from.stride, offset: from.offset }, target.offset);
  if (start === null) return null;
  const items: Item[] = taken.map(({ size, step }, d) => (chosen.has(d) ? { start: start[d] ?? 0, size, step } : (start[d] ?? 0)));
  const kept = [...chosen].sort(([a], [b]) => a - b).map(([, want]) => want.dim);
  const order = [...kept].sort((a, b) => a - b);
  const added = target.shape.map((_, d) => d).filter((d) => !kept.includes(d));
  const straight = kept.every((dim, i) => dim === order[i]);
  const moves: Move[] = [];
  const expanded = target.shape.some((size, d) => {
    const source = [...chosen].find(([, want]) => want.dim === d)?.[0];
    return size > 1 && target.stride[d] === 0 && (source === undefined || taken[source]?.size !== size);
  });
  // `expand` makes leading dimensions by itself.
  const leading = expanded && added.every((dim, i) => dim === i);
  const news = leading ? [] : added;
  if (straight) {
    for (const dim of news) items.splice(positionOf(items, dim), 0, null);
  }
  if (items.some((item, d) => !isWhole(item, from.shape[d] ?? 0)) || (straight && news.length > 0)) moves.push({ kind: "index", items });
  if (!straight) {
    moves.push({ kind: "permute", dims: order.map((dim) => kept.indexOf(dim)) });
    for (const dim of news) moves.push({ kind: "unsqueeze", dim });
  }
  if (expanded) moves.push({ kind: "expand", shape: target.shape });
  return moves;
}

/** Where in a list of items the result's dimension `dim` begins: integers give none. */
function positionOf(items: readonly Item[], dim: number): number {
  let seen = 0;
  for (let i = 0; i < items.length; i++) {
    if (seen === dim && typeof items[i] !== "number") return i;
    if (typeof items[i] !== "number") seen += 1;
  }
  return items.length;
}

const isWhole = (item: Item, size: number): boolean => typeof item === "object" && item !== null && item.start === 0 && item.step === 1 && item.size === size;

/** A view after one move; null where PyTorch would raise. */
function applied(view: Strided, move: Move): Strided | null {
  const { shape, stride } = view;
  switch (move.kind) {
    case "index": return indexed(view, move.items);
    case "permute": return { ...view, shape: move.dims.map((d) => shape[d] ?? 1), stride: move.dims.map((d) => stride[d] ?? 0) };
    case "unsqueeze": return { ...view, shape: shape.toSpliced(move.dim, 0, 1), stride: stride.toSpliced(move.dim, 0, 1) };
    case "view": {
      const cut = answerView(view, move.shape).stride;
      return cut === null ? null : { ...view, shape: move.shape, stride: cut };
    }
    case "expand": {
      const lead = move.shape.length - shape.length;
      if (lead < 0 || move.shape.some((size, d) => d >= lead && shape[d - lead] !== 1 && shape[d - lead] !== size)) return null;
      return { ...view, shape: move.shape, stride: move.shape.map((size, d) => (d < lead || shape[d - lead] !== size ? 0 : (stride[d - lead] ?? 0))) };
    }
    case "unfold": {
      const [size, step] = [shape[move.dim] ?? 0, stride[move.dim] ?? 0];
      const count = Math.floor((size - move.size) / move.step) + 1;
      return { ...view, shape: [...shape.with(move.dim, count), move.size], stride: [...stride.with(move.dim, step * move.step), step] };
    }
    case "diagonal": {
      const [a, b] = move.dims;
      const [rows, columns] = [shape[a] ?? 0, shape[b] ?? 0];
      const length = move.offset >= 0 ? Math.min(rows, columns - move.offset) : Math.min(rows + move.offset, columns);
      const skipped = move.offset >= 0 ? move.offset * (stride[b] ?? 0) : -move.offset * (stride[a] ?? 0);
      const others = shape.map((_, d) => d).filter((d) => d !== a && d !== b);
      return {
        shape: [...others.map((d) => shape[d] ?? 1), length],
        stride: [...others.map((d) => stride[d] ?? 0), (stride[a] ?? 0) + (stride[b] ?? 0)],
        offset: view.offset + skipped,
      };
    }
  }
}

function indexed(view: Strided, items: readonly Item[]): Strided {
  const [shape, stride]: [number[], number[]] = [[], []];
  let { offset } = view;
  let dim = 0;
  for (const item of items) {
    if (item === null) {
      shape.push(1);
      stride.push(1);
      continue;
    }
    const step = view.stride[dim++] ?? 0;
    offset += (typeof item === "number" ? item : item.start) * step;
    if (typeof item === "number") continue;
    shape.push(item.size);
    stride.push(step * item.step);
  }
  return { shape, stride, offset };
}

/** Fewer calls first, then fewer characters. */
function cost(moves: readonly Move[], base: Strided): number {
  return moves.length * 1000 + textOf(moves, base, "x").length;
}

const tuple = (numbers: readonly number[]): string => (numbers.length === 1 ? `(${numbers[0]},)` : `(${numbers.join(", ")})`);

function textOf(moves: readonly Move[], base: Strided, name: string): string {
  let text = name;
  let view = base;
  for (const move of moves) {
    text += wordsOf(move, view);
    view = applied(view, move) ?? view;
  }
  return text;
}

function wordsOf(move: Move, view: Strided): string {
  const { shape } = view;
  switch (move.kind) {
    case "index": return `[${itemsText(move.items, shape)}]`;
    case "permute": return permuteText(move.dims);
    case "unsqueeze": return `.unsqueeze(${move.dim})`;
    case "expand": return `.expand(${move.shape.join(", ")})`;
    case "view": return move.shape.length === 1 ? ".view(-1)" : `.view(${move.shape.length === 0 ? "()" : move.shape.join(", ")})`;
    case "unfold": return `.unfold(${move.dim}, ${move.size}, ${move.step})`;
    case "diagonal": {
      const plain = move.dims[0] === 0 && move.dims[1] === 1;
      const offset = move.offset === 0 && plain ? "" : String(move.offset);
      return `.diagonal(${plain ? offset : [offset, ...move.dims].join(", ")})`;
    }
  }
}

function permuteText(dims: readonly number[]): string {
  if (dims.length === 2) return ".t()";
  const moved = dims.map((_, i) => i).filter((i) => dims[i] !== i);
  return moved.length === 2 ? `.transpose(${moved.join(", ")})` : `.permute(${dims.join(", ")})`;
}

function itemsText(items: readonly Item[], shape: readonly number[]): string {
  let dim = 0;
  const texts = items.map((item) => {
    if (item === null) return "None";
    const size = shape[dim++] ?? 0;
    if (typeof item === "number") return String(item);
    const { start, size: count, step } = item;
    const last = start + (count - 1) * step;
    const from = start === 0 ? "" : String(start);
    // To the end where one more step would leave the dimension.
    const to = last + step >= size ? "" : String(last + 1);
    return step === 1 || count === 1 ? `${from}:${to}` : `${from}:${to}:${step}`;
  });
  while (texts.length > 1 && texts.at(-1) === ":") texts.pop();
  return texts.join(", ");
}
