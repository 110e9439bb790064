/**
 * Which lines of two programs belong together, and which of their steps.
 *
 * Lines are compared by their text (patience, then the longest common subsequence), and lines that
 * were rewritten are paired by how alike they are. Steps go by the pair of their line and by how often
 * it has run: loops align pass by pass, and what only one side executes stands alone. Pure; no states.
 */
import type { Outline, StepOutline } from "./outline";

/** A line of each program, from 1; null where the other has none. */
export interface LinePair {
  readonly left: number | null;
  readonly right: number | null;
  /** Their text is the same. */
  readonly same: boolean;
}

/** A step of each side, from 1; null where the other side does nothing. */
export interface StepPair {
  readonly left: number | null;
  readonly right: number | null;
}

/** Products of sizes above which only what is unmistakable is paired. */
const MOST_CELLS = 4_000_000;
const LEAST_ALIKE = 0.4;

/** Indices that belong together, both rising. */
export function commonSubsequence(left: readonly string[], right: readonly string[]): [number, number][] {
  const found: [number, number][] = [];
  let [start, leftEnd, rightEnd] = [0, left.length, right.length];
  while (start < leftEnd && start < rightEnd && left[start] === right[start]) found.push([start, start++]);
  const tail: [number, number][] = [];
  while (leftEnd > start && rightEnd > start && left[leftEnd - 1] === right[rightEnd - 1]) tail.unshift([--leftEnd, --rightEnd]);
  let [from, to] = [start, start];
  for (const [i, j] of [...uniqueAnchors(left, right, start, leftEnd, rightEnd), [leftEnd, rightEnd] as const]) {
    found.push(...longest(left, right, from, i, to, j));
    if (i < leftEnd) found.push([i, j]);
    [from, to] = [i + 1, j + 1];
  }
  return [...found, ...tail];
}

/** Texts that either side has once, in the longest order that both have. */
function uniqueAnchors(left: readonly string[], right: readonly string[], start: number, leftEnd: number, rightEnd: number): [number, number][] {
  const once = (texts: readonly string[], end: number): Map<string, number> => {
    const places = new Map<string, number>();
    for (let i = start; i < end; i += 1) places.set(texts[i] ?? "", places.has(texts[i] ?? "") ? -1 : i);
    return places;
  };
  const there = once(right, rightEnd);
  const pairs = [...once(left, leftEnd)].flatMap(([text, i]): [number, number][] => {
    const j = there.get(text) ?? -1;
    return i < 0 || j < 0 || text.trim() === "" ? [] : [[i, j]];
  });
  return rising(pairs);
}

/** Of pairs whose first numbers rise, the most whose second numbers rise too. */
export function rising(pairs: readonly [number, number][]): [number, number][] {
  const tops: number[] = [];
  const before = new Array<number>(pairs.length).fill(-1);
  pairs.forEach(([, j], index) => {
    let [low, high] = [0, tops.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((pairs[tops[middle] ?? 0]?.[1] ?? 0) < j) low = middle + 1;
      else high = middle;
    }
    before[index] = low > 0 ? (tops[low - 1] ?? -1) : -1;
    tops[low] = index;
  });
  const found: [number, number][] = [];
  for (let at = tops.at(-1) ?? -1; at >= 0; at = before[at] ?? -1) {
    const pair = pairs[at];
    if (pair !== undefined) found.push(pair);
  }
  return found.reverse();
}

/** The longest common subsequence of a piece of each side. */
function longest(left: readonly string[], right: readonly string[], from: number, leftEnd: number, to: number, rightEnd: number): [number, number][] {
  const gain = (i: number, j: number): number => (left[from + i] === right[to + j] ? 1 : 0);
  return bestPairs(leftEnd - from, rightEnd - to, gain).map(([i, j]) => [from + i, to + j]);
}

/** Pairs in order whose gains add up to the most; a gain of 0 is no pair. */
function bestPairs(rows: number, columns: number, gain: (i: number, j: number) => number): [number, number][] {
  if (rows <= 0 || columns <= 0 || rows * columns > MOST_CELLS) return [];
  const width = columns + 1;
  const best = new Float64Array((rows + 1) * width);
  for (let i = rows - 1; i >= 0; i -= 1) {
    for (let j = columns - 1; j >= 0; j -= 1) {
      const worth = gain(i, j);
      const paired = worth > 0 ? worth + (best[(i + 1) * width + j + 1] ?? 0) : 0;
      best[i * width + j] = Math.max(paired, best[(i + 1) * width + j] ?? 0, best[i * width + j + 1] ?? 0);
    }
  }
  const found: [number, number][] = [];
  for (let i = 0, j = 0; i < rows && j < columns; ) {
    const worth = gain(i, j);
    const here = best[i * width + j] ?? 0;
    if (worth > 0 && here === worth + (best[(i + 1) * width + j + 1] ?? 0)) found.push([i++, j++]);
    else if (here === (best[(i + 1) * width + j] ?? 0)) i += 1;
    else j += 1;
  }
  return found;
}

/** The lines of two programs side by side, each once, in order. */
export function alignLines(left: readonly string[], right: readonly string[]): readonly LinePair[] {
  const [a, b] = [left.map((line) => line.trimEnd()), right.map((line) => line.trimEnd())];
  const rows: LinePair[] = [];
  let [i, j] = [0, 0];
  for (const [p, q] of [...commonSubsequence(a, b), [a.length, b.length] as const]) {
    rows.push(...rewritten(a, b, i, p, j, q));
    if (p < a.length || q < b.length) rows.push({ left: p + 1, right: q + 1, same: true });
    [i, j] = [p + 1, q + 1];
  }
  return rows;
}

/** Lines between two that are the same: pairs of lines that are alike, the others alone. */
function rewritten(a: readonly string[], b: readonly string[], from: number, leftEnd: number, to: number, rightEnd: number): LinePair[] {
  const gain = (i: number, j: number): number => {
    const likeness = alike(a[from + i] ?? "", b[to + j] ?? "");
    return likeness >= LEAST_ALIKE ? likeness : 0;
  };
  const [rows, columns] = [leftEnd - from, rightEnd - to];
  const pairs = rows * columns > 10_000 ? [] : bestPairs(rows, columns, gain);
  const found: LinePair[] = [];
  let [i, j] = [0, 0];
  for (const [p, q] of [...pairs, [rows, columns] as const]) {
    while (i < p) found.push({ left: from + ++i, right: null, same: false });
    while (j < q) found.push({ left: null, right: to + ++j, same: false });
    if (p < rows || q < columns) found.push({ left: from + ++i, right: to + ++j, same: false });
  }
  return found;
}

/** How alike two lines are, 0 to 1: the pairs of neighbouring characters they share. */
function alike(a: string, b: string): number {
  const [one, two] = [pairsOf(a), pairsOf(b)];
  const [of, all] = [new Map<string, number>(), one.length + two.length];
  if (one.length === 0 || two.length === 0) return 0;
  for (const pair of one) of.set(pair, (of.get(pair) ?? 0) + 1);
  const shared = two.filter((pair) => {
    const left = of.get(pair) ?? 0;
    of.set(pair, left - 1);
    return left > 0;
  }).length;
  return (2 * shared) / all;
}

function pairsOf(line: string): string[] {
  const text = line.replace(/\s+/g, " ").trim();
  return Array.from({ length: Math.max(0, text.length - 1) }, (_, i) => text.slice(i, i + 2));
}

/** The steps of two runs side by side: each step once, in order. */
export function alignSteps(left: Outline, right: Outline, lines: readonly LinePair[]): readonly StepPair[] {
  const leftOf = new Map(lines.flatMap((pair, index) => (pair.left === null ? [] : [[pair.left, index] as const])));
  const rightOf = new Map(lines.flatMap((pair, index) => (pair.right === null ? [] : [[pair.right, index] as const])));
  const a = tokens(left, (line) => `${leftOf.get(line) ?? `l${line}`}`);
  const b = tokens(right, (line) => `${rightOf.get(line) ?? `r${line}`}`);
  const there = new Map(b.map(({ key }, index) => [key, index]));
  const anchors = rising(a.flatMap(({ key }, index): [number, number][] => {
    const other = there.get(key);
    return other === undefined ? [] : [[index, other]];
  }));
  const rows: StepPair[] = [];
  let [i, j] = [0, 0];
  for (const [p, q] of [...anchors, [a.length, b.length] as const]) {
    rows.push(...between(a, b, i, p, j, q));
    if (p < a.length && q < b.length) rows.push({ left: p + 1, right: q + 1 });
    [i, j] = [p + 1, q + 1];
  }
  return rows;
}

interface Token {
  /** Which statement; both sides have the same for lines that belong together. */
  readonly statement: string;
  /** Which of its executions. */
  readonly key: string;
}

function tokens(outline: Outline, lineName: (line: number) => string): Token[] {
  const columns = new Map<number, number[]>();
  for (const { line, statement } of outline.steps) {
    const known = columns.get(line) ?? [];
    if (!known.includes(statement.range.column)) columns.set(line, [...known, statement.range.column].sort((x, y) => x - y));
  }
  const again = new Map<string, number>();
  return outline.steps.map((step) => {
    const place = columns.get(step.line)?.indexOf(step.statement.range.column) ?? 0;
    const statement = `${lineName(step.line)}.${place}${step.again ?? ""}`;
    return { statement, key: `${statement}#${occurrence(step, statement, again)}` };
  });
}

function occurrence(step: StepOutline, statement: string, again: Map<string, number>): number {
  if (step.again === null) return step.pass;
  const count = (again.get(statement) ?? 0) + 1;
  again.set(statement, count);
  return count;
}

/** Steps between two that belong together: other passes of one statement may still correspond. */
function between(a: readonly Token[], b: readonly Token[], from: number, leftEnd: number, to: number, rightEnd: number): StepPair[] {
  const gain = (i: number, j: number): number => (a[from + i]?.statement === b[to + j]?.statement ? 1 : 0);
  const [rows, columns] = [leftEnd - from, rightEnd - to];
  const found: StepPair[] = [];
  let [i, j] = [0, 0];
  for (const [p, q] of [...bestPairs(rows, columns, gain), [rows, columns] as const]) {
    while (i < p) found.push({ left: from + ++i, right: null });
    while (j < q) found.push({ left: null, right: to + ++j });
    if (p < rows || q < columns) found.push({ left: from + ++i, right: to + ++j });
  }
  return found;
}
