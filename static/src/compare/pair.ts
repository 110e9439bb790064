/**
 * Two traces side by side: rows of steps that belong together, what differs after each, and in a few
 * sentences where they part and how they end. Pure.
 */
import { alignLines, alignSteps, type LinePair, type StepPair } from "../model/alignment";
import { differences, type Difference } from "./differences";
import { History } from "../model/history";
import { linesOf, outlineOf, type Outline } from "../model/outline";
import { LAYERS, type Layer, type State } from "../model/state";
import type { Trace } from "../schema/trace.gen";

export type Side = "left" | "right";
export const SIDES: readonly Side[] = ["left", "right"];

export interface Sentence {
  readonly id: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** Facts told of a place; the others are counted. */
const TOLD = 2;

/** How much a fact says about why two programs part. */
const WEIGHT: readonly string[] = ["shares", "stale", "only", "nodes", "grad_fn", "dtype", "shape", "device", "requires_grad", "values"];

export class Pair {
  readonly outlines: Readonly<Record<Side, Outline>>;
  readonly lines: readonly LinePair[];
  /** Row 1 is the first; row 0 is before anything ran. */
  readonly rows: readonly StepPair[];
  private readonly histories: Readonly<Record<Side, History>>;
  private readonly steps: readonly (readonly [number, number])[];
  private readonly pairs: Readonly<Record<Side, ReadonlyMap<number, number>>>;
  private readonly known = new Map<number, readonly Difference[]>();

  constructor(readonly traces: Readonly<Record<Side, Trace>>) {
    const { left, right } = traces;
    this.outlines = { left: outlineOf(left), right: outlineOf(right) };
    this.histories = { left: new History(left), right: new History(right) };
    this.lines = alignLines(codeLines(left), codeLines(right));
    this.rows = alignSteps(this.outlines.left, this.outlines.right, this.lines);
    let [l, r] = [0, 0];
    this.steps = [[0, 0], ...this.rows.map((row): [number, number] => [(l = row.left ?? l), (r = row.right ?? r)])];
    const pairing = (side: Side): ReadonlyMap<number, number> => {
      return new Map(this.lines.flatMap((pair, index) => (pair[side] === null ? [] : [[pair[side], index]])));
    };
    this.pairs = { left: pairing("left"), right: pairing("right") };
  }

  /** The step a side is at in a row: its latest so far. */
  step(side: Side, row: number): number {
    return this.steps[row]?.[side === "left" ? 0 : 1] ?? 0;
  }

  /** The first row in which a side is at a step. */
  rowOf(side: Side, step: number): number {
    return Math.max(0, this.steps.findIndex((steps) => steps[side === "left" ? 0 : 1] === step));
  }

  state(side: Side, row: number): State {
    return this.histories[side].state(this.step(side, row));
  }

  /** What differs once the row's steps have ended. */
  differences(row: number): readonly Difference[] {
    let found = this.known.get(row);
    if (found === undefined) {
      found = differences({
        left: this.state("left", row),
        right: this.state("right", row),
        pairedLine: (side, line) => (line === null ? "" : `${this.pairs[side].get(line) ?? `${side} ${line}`}`),
      });
      this.known.set(row, found);
    }
    return found;
  }

  /** What began to differ in this row. */
  fresh(row: number): readonly Difference[] {
    const before = new Set(row === 0 ? [] : this.differences(row - 1).map(keyOf));
    return this.differences(row).filter((each) => !before.has(keyOf(each)));
  }

  /** Layers in which something began to differ in this row. */
  layers(row: number): readonly Layer[] {
    const fresh = this.fresh(row);
    return LAYERS.filter((layer) => fresh.some((each) => each.layer === layer));
  }

  /** Where the two part: the first row after which something differs; null when nothing ever does. */
  parting(): number | null {
    const row = this.rows.findIndex((_, index) => this.differences(index + 1).length > 0);
    return row < 0 ? null : row + 1;
  }

  /** The next row, after one, in which something begins to differ (in a layer). */
  next(row: number, layer: Layer | null = null): number | null {
    for (let at = row + 1; at <= this.rows.length; at += 1) {
      const fresh = this.fresh(at);
      if (fresh.some((each) => layer === null || each.layer === layer)) return at;
    }
    return null;
  }

  /** Where they part, and how they end. */
  summary(): readonly Sentence[] {
    const row = this.parting();
    return [...(row === null ? [{ id: "ui.compare.summary.alike", args: {} }] : this.partingSentences(row)), ...this.endings()];
  }

  private partingSentences(row: number): Sentence[] {
    const [left, right] = [this.rows[row - 1]?.left ?? null, this.rows[row - 1]?.right ?? null];
    const line = (side: Side, step: number | null): number => (step === null ? 0 : (this.outlines[side].steps[step - 1]?.line ?? 0));
    const lines = { left: line("left", left), right: line("right", right) };
    const same = lines.left === lines.right ? "same" : lines.left === 0 ? "right" : lines.right === 0 ? "left" : "both";
    const first = this.told(this.differences(row));
    const last = this.rows.length;
    const before = new Set(this.differences(row).map(keyOf));
    const later = this.told(this.differences(last).filter((each) => !before.has(keyOf(each))));
    return [
      { id: "ui.compare.summary.until", args: { where: same, ...lines } },
      ...first,
      ...(last > row && later.length > 0 ? [{ id: "ui.compare.summary.end", args: {} }, ...later] : []),
    ];
  }

  private told(found: readonly Difference[]): Sentence[] {
    const weight = ({ id, args }: Difference): number => {
      const kind = id.endsWith(".attribute") ? String(args["attribute"]) : id.slice(id.lastIndexOf(".") + 1);
      const at = WEIGHT.indexOf(kind);
      return at < 0 ? WEIGHT.length : at;
    };
    const sorted = [...found].sort((a, b) => weight(a) - weight(b));
    const more = sorted.length - TOLD;
    return [
      ...sorted.slice(0, TOLD).map(({ id, args }) => ({ id, args })),
      ...(more > 0 ? [{ id: "ui.compare.summary.more", args: { count: more } }] : []),
    ];
  }

  private endings(): Sentence[] {
    const { left, right } = this.traces;
    const [mine, theirs] = [left.outcome, right.outcome];
    const alike = mine.kind === theirs.kind && mine.type === theirs.type && mine.reason === theirs.reason;
    const how = (trace: Trace): string => trace.outcome.type ?? trace.outcome.reason ?? "";
    const ends: Sentence = alike
      ? { id: "ui.compare.summary.ends-alike", args: { kind: mine.kind, what: how(left) } }
      : {
          id: "ui.compare.summary.ends",
          args: { left: mine.kind, left_what: how(left), left_line: mine.line ?? 0, right: theirs.kind, right_what: how(right), right_line: theirs.line ?? 0 },
        };
    const [printed, other] = SIDES.map((side) => this.histories[side].state(this.histories[side].steps).stdout);
    return printed === other ? [ends] : [ends, { id: "ui.compare.summary.prints", args: {} }];
  }
}

function codeLines(trace: Trace): string[] {
  const lines = linesOf(trace.source);
  if (lines.length > 1 && lines.at(-1) === "") lines.pop();
  return lines;
}

/** Sums that go on growing apart: only that they began to differ is news. */
const SUMS: ReadonlySet<string> = new Set(["ui.compare.fact.nodes", "ui.compare.fact.alive"]);

/** The same fact again. */
function keyOf({ id, args, names }: Difference): string {
  if (SUMS.has(id)) return id;
  return JSON.stringify([id, names, args["attribute"], args["side"], args["left"], args["right"], args["count"], args["nodes"]]);
}
