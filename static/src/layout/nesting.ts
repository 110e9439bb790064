/**
 * A folded graph with some of its folds open where they stand.
 *
 * All coordinates are Python's: the picture of the whole, and one of the inside of each fold. An open fold's box
 * grows to the size of its inside; what stands right of it and below makes room, and nothing else moves, so that
 * order and neighbourhood stay as they were and the box keeps its left top corner. Lines run on through the ports
 * of the picture inside. The same folds open give the same picture, whatever was opened first. No DOM.
 */
import type { EdgeDrawing, FoldDrawing, NodeDrawing } from "../schema/trace.gen";

export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly NodeDrawing[];
  readonly edges: readonly EdgeDrawing[];
}

/** The outline of an open fold. */
export interface Frame {
  readonly fold: number;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Nested extends Picture {
  /** The outer ones before those in them. */
  readonly frames: readonly Frame[];
}

type Point = readonly [number, number];
type Folds = ReadonlyMap<number, FoldDrawing>;

/** Height of the title of an open fold. */
export const HEAD = 40;
const PAD = 14;
const LANE = 6;
/** A neighbour's box as small as this is a port: a line goes on outside. */
const PORT = 12;
/** From a box to where a line changes its height. */
const JOG = 12;

/**
 * The picture with the folds of `open` opened. `joined` says whether gradients flow straight from what one box stands
 * for to what the other does: it is asked where both ends of a line were folded.
 */
export function nest(whole: Picture, folds: Folds, open: ReadonlySet<number>, joined: (source: number, target: number) => boolean): Nested {
  const { boxes, edges, frames } = compose(whole, new Set(), { folds, open, joined });
  const points = edges.flatMap((edge) => edge.points);
  return {
    width: Math.max(whole.width, ...boxes.map(({ x, width }) => x + width), ...frames.map(({ x, width }) => x + width), ...points.map(([x]) => x)),
    height: Math.max(whole.height, ...boxes.map(({ y, height }) => y + height), ...frames.map(({ y, height }) => y + height), ...points.map(([, y]) => y)),
    nodes: boxes,
    edges,
    frames,
  };
}

interface Given {
  readonly folds: Folds;
  readonly open: ReadonlySet<number>;
  readonly joined: (source: number, target: number) => boolean;
}

interface Composed {
  readonly boxes: readonly NodeDrawing[];
  /** Lines within, and those that end at a port: `leaving` or `entering`. */
  readonly edges: readonly EdgeDrawing[];
  readonly leaving: readonly EdgeDrawing[];
  readonly entering: readonly EdgeDrawing[];
  readonly frames: readonly Frame[];
  readonly width: number;
  readonly height: number;
}

/** An open fold: its box, what is inside, and how large that makes it. */
interface Opened {
  readonly box: NodeDrawing;
  readonly inside: Composed;
  readonly width: number;
  readonly height: number;
  readonly left: number;
}

function compose(picture: Picture, outside: ReadonlySet<number>, given: Given): Composed {
  const opened = new Map<NodeDrawing, Opened>();
  for (const box of picture.nodes) {
    const fold = box.node < 0 && !outside.has(box.node) && given.open.has(-box.node) ? given.folds.get(-box.node) : undefined;
    if (fold === undefined || fold.nodes.length === 0) continue;
    opened.set(box, room(box, compose(fold, new Set(fold.outside), given)));
  }
  const placed = spaced(picture, [...opened.values()]);
  const boxes: NodeDrawing[] = [];
  const frames: Frame[] = [];
  const edges: EdgeDrawing[] = [];
  const leaving: EdgeDrawing[] = [];
  const entering: EdgeDrawing[] = [];
  const ports = new Set(picture.nodes.filter((box) => outside.has(box.node) && box.width <= PORT));
  const sizes = { width: 0, height: 0 };
  for (const box of picture.nodes) {
    const [x, y] = placed.box(box);
    const its = opened.get(box);
    const { width, height } = its ?? box;
    sizes.width = Math.max(sizes.width, x + width);
    sizes.height = Math.max(sizes.height, y + height);
    if (its !== undefined) {
      frames.push({ fold: -box.node, x, y, width, height });
      const moved = <T extends { readonly x: number; readonly y: number }>(each: T): T => ({ ...each, x: each.x + x + its.left, y: each.y + y + HEAD });
      boxes.push(...its.inside.boxes.map(moved));
      frames.push(...its.inside.frames.map(moved));
      edges.push(...its.inside.edges.map((edge) => shifted(edge, x + its.left, y + HEAD)));
    } else if (!ports.has(box)) boxes.push({ ...box, x, y });
  }
  const byNode = new Map<number, NodeDrawing[]>();
  for (const box of picture.nodes) byNode.set(box.node, [...(byNode.get(box.node) ?? []), box]);
  for (const edge of picture.edges) {
    const source = boxAt(byNode.get(edge.source), edge.points[0]);
    const target = boxAt(byNode.get(edge.target), edge.points.at(-1));
    if (source === undefined || target === undefined) continue;
    const into = ports.has(target) ? leaving : ports.has(source) ? entering : edges;
    const points = placed.line(edge.points, source, target, opened);
    into.push(...runOn({ ...edge, points }, opened.get(source), opened.get(target), placed, given));
  }
  for (const [, y] of [...edges, ...leaving, ...entering].flatMap(({ points }) => points)) sizes.height = Math.max(sizes.height, y);
  return { boxes, edges, leaving, entering, frames, ...sizes };
}

/** How large an open fold is: its title, its inside, and lanes for the lines that come in and go out. */
function room(box: NodeDrawing, inside: Composed): Opened {
  const left = PAD + LANE * new Set(inside.leaving.map(({ target }) => target)).size;
  const right = PAD + LANE * new Set(inside.entering.map(({ source }) => source)).size;
  return { box, inside, left, width: Math.max(box.width, left + inside.width + right), height: Math.max(box.height, HEAD + inside.height + PAD) };
}

/** A line, or several, where it begins or ends in an open fold. */
function runOn(edge: EdgeDrawing, from: Opened | undefined, to: Opened | undefined, placed: Spaced, { joined }: Given): EdgeDrawing[] {
  const starts = from === undefined ? [] : from.inside.leaving.filter(({ target }) => target === edge.target);
  const ends = to === undefined ? [] : to.inside.entering.filter(({ source }) => source === edge.source);
  const found: EdgeDrawing[] = [];
  for (const start of starts.length > 0 ? starts : [null]) {
    for (const end of ends.length > 0 ? ends : [null]) {
      const [source, target] = [start?.source ?? edge.source, end?.target ?? edge.target];
      if (start !== null && end !== null && !joined(source, target)) continue;
      const points: Point[] = [];
      if (start !== null && from !== undefined) points.push(...outOf(from, start, edge.points[0] as Point, placed));
      points.push(...(edge.points as Point[]));
      if (end !== null && to !== undefined) points.push(...inTo(to, end, edge.points.at(-1) as Point, placed));
      found.push({ source, target, points: straight(points) });
    }
  }
  return found;
}

/** From a box inside to the left side of the frame, at the height where the line goes on. */
function outOf(fold: Opened, inner: EdgeDrawing, border: Point, placed: Spaced): Point[] {
  const [x, y] = placed.box(fold.box);
  const points = inner.points.map(([px, py]): Point => [px + x + fold.left, py + y + HEAD]);
  const targets = [...new Set(fold.inside.leaving.map(({ target }) => target))];
  const lane = x + PAD / 2 + LANE * targets.indexOf(inner.target);
  const last = points.at(-1);
  return last === undefined ? [] : [...points, [lane, last[1]], [lane, border[1]]];
}

/** From the right side of the frame to a box inside. */
function inTo(fold: Opened, inner: EdgeDrawing, border: Point, placed: Spaced): Point[] {
  const [x, y] = placed.box(fold.box);
  const points = inner.points.map(([px, py]): Point => [px + x + fold.left, py + y + HEAD]);
  const sources = [...new Set(fold.inside.entering.map(({ source }) => source))];
  const lane = x + fold.width - PAD / 2 - LANE * sources.indexOf(inner.source);
  const [first] = points;
  return first === undefined ? [] : [[lane, border[1]], [lane, first[1]], ...points];
}

interface Spaced {
  box(box: NodeDrawing): Point;
  line(points: readonly Point[], source: NodeDrawing, target: NodeDrawing, opened: ReadonlyMap<NodeDrawing, Opened>): [number, number][];
}

/** Where boxes and lines of a picture come to stand when some of its boxes grow. */
function spaced(picture: Picture, opened: readonly Opened[]): Spaced {
  const down = growing(opened.map(({ box, height }) => ({ from: box.y, to: box.y + box.height, size: height })));
  // Parts that stand below one another and hang together nowhere get wider each by itself.
  const bands = opened.length === 0 ? [] : bandsOf(picture);
  const across = bands.map(([top, bottom]) =>
    growing(opened.filter(({ box }) => box.y >= top && box.y < bottom).map(({ box, width }) => ({ from: box.x, to: box.x + box.width, size: width }))),
  );
  const point = ([x, y]: Point): Point => {
    const band = bands.findIndex(([top, bottom]) => y >= top && y <= bottom);
    return [across[band]?.(x) ?? x, down(y)];
  };
  const box = ({ x, y }: NodeDrawing): Point => point([x, y]);
  const line: Spaced["line"] = (points, source, target, grown) => {
    const first = points[0];
    const last = points.at(-1);
    if (first === undefined || last === undefined) return [];
    const [sx, sy] = box(source);
    const [tx, ty] = box(target);
    const start: Point = [first[0] > source.x + source.width / 2 ? sx + (grown.get(source)?.width ?? source.width) : sx, sy + first[1] - source.y];
    const end: Point = [last[0] > target.x + target.width / 2 ? tx + (grown.get(target)?.width ?? target.width) : tx, ty + last[1] - target.y];
    const [out, into] = [first[0] > source.x + source.width / 2 ? JOG : -JOG, last[0] > target.x + target.width / 2 ? JOG : -JOG];
    const between = points.slice(1, -1).map(point);
    if (between.length === 0) return straight(near(start[1], end[1]) ? [start, end] : [start, [end[0] + into, start[1]], [end[0] + into, end[1]], end]);
    const before = meet(between, start, out, upright(points[1], points[2]), 0);
    const after = meet(between, end, into, upright(points.at(-2), points.at(-3)), between.length - 1);
    return straight([start, ...before, ...between, ...after.reverse(), end]);
  };
  return { box, line };
}

/** Brings a line to the height of the box at its end: its own bend there moves, or it gets one. */
function meet(between: Point[], port: Point, side: number, bends: boolean, at: number): Point[] {
  const own = between[at];
  if (own === undefined || near(own[1], port[1])) return [];
  if (!bends) return [[port[0] + side, port[1]], [port[0] + side, own[1]]];
  between[at] = [own[0], port[1]];
  return [];
}

const near = (a: number, b: number): boolean => Math.abs(a - b) < 0.01;
const upright = (a: Point | undefined, b: Point | undefined): boolean => a !== undefined && b !== undefined && near(a[0], b[0]);

/** Without points that change nothing. */
function straight(points: readonly Point[]): [number, number][] {
  const kept: Point[] = [];
  for (const point of points) {
    const [before, last] = [kept.at(-2), kept.at(-1)];
    if (last !== undefined && near(last[0], point[0]) && near(last[1], point[1])) continue;
    const same = before !== undefined && last !== undefined && ((near(before[0], last[0]) && near(last[0], point[0])) || (near(before[1], last[1]) && near(last[1], point[1])));
    if (same) kept.pop();
    kept.push(point);
  }
  return kept.map(([x, y]) => [x, y]);
}

/** Where a coordinate comes to lie when pieces of its axis grow: those behind a piece move, no two change their order. */
function growing(pieces: readonly { readonly from: number; readonly to: number; readonly size: number }[]): (at: number) => number {
  const cuts: { at: number; shift: number }[] = [];
  const move = (at: number): number => at + (cuts.findLast((cut) => cut.at <= at)?.shift ?? 0);
  for (const at of [...new Set(pieces.map(({ to }) => to))].sort((a, b) => a - b)) {
    const ends = pieces.filter(({ to }) => to === at).map(({ from, size }) => move(from) + size - at);
    cuts.push({ at, shift: Math.max(cuts.at(-1)?.shift ?? 0, ...ends) });
  }
  return move;
}

/** Stretches from top to bottom that no box and no line connects. */
function bandsOf({ nodes, edges }: Picture): [number, number][] {
  const spans = [
    ...nodes.map(({ y, height }): [number, number] => [y, y + height]),
    ...edges.map(({ points }): [number, number] => [Math.min(...points.map(([, y]) => y)), Math.max(...points.map(([, y]) => y))]),
  ].sort((a, b) => a[0] - b[0]);
  const bands: [number, number][] = [];
  for (const [top, bottom] of spans) {
    const last = bands.at(-1);
    if (last !== undefined && top <= last[1]) last[1] = Math.max(last[1], bottom);
    else bands.push([top, bottom]);
  }
  return bands;
}

/** Of the boxes of one node, the one that a line touches there. */
function boxAt(boxes: readonly NodeDrawing[] | undefined, point: readonly number[] | undefined): NodeDrawing | undefined {
  const [px, py] = [point?.[0] ?? NaN, point?.[1] ?? NaN];
  return boxes?.find(({ x, y, width, height }) => px >= x - 2 && px <= x + width + 2 && py >= y - 2 && py <= y + height + 2) ?? boxes?.[0];
}

const shifted = (edge: EdgeDrawing, dx: number, dy: number): EdgeDrawing => ({ ...edge, points: edge.points.map(([x, y]) => [x + dx, y + dy]) });
