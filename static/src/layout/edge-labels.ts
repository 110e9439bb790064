/**
 * Room for labels beside the lines of a picture: where each covers no box, no line and no other label, or nowhere.
 *
 * A place follows from the picture and the sizes alone, so that no label moves while gradients are followed. No DOM.
 */
export interface Area {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** A line and the size of what is to stand beside it. */
export interface Wanted {
  readonly points: readonly (readonly [number, number])[];
  readonly width: number;
  readonly height: number;
}

/** Outside the picture, where its window shows a little more. */
const MARGIN = 16;
const AWAY = 4;
/** How far from its line a label may stand. */
const FAR = 46;
const STEP = 7;
/** Squares that areas are looked up by. */
const CELL = 160;

/** A place per label, in their order; null where there is no room. */
export function placeLabels(wanted: readonly Wanted[], boxes: readonly Area[], lines: readonly Wanted["points"][]): (readonly [number, number] | null)[] {
  const taken = new Ground();
  for (const box of boxes) taken.add(box);
  for (const line of lines) for (const piece of pieces(line)) taken.add({ x: piece.x - 1, y: piece.y - 1, width: piece.width + 2, height: piece.height + 2 });
  return wanted.map((label) => {
    for (const [x, y] of places(label)) {
      const area = { x, y, width: label.width, height: label.height };
      if (x < -MARGIN || y < -MARGIN || !taken.isFree(area)) continue;
      taken.add(area);
      return [x, y];
    }
    return null;
  });
}

/** Above and below each level piece, the nearest to the target first, then beside upright ones, then further off. */
function* places({ points, width, height }: Wanted): Generator<readonly [number, number]> {
  const all = pieces(points).reverse();
  const level = all.filter((piece) => piece.height === 0 && piece.width > 0);
  for (const { x, y, width: long } of level) {
    if (long < width) continue;
    for (const at of [x + (long - width) / 2, x + 2, x + long - width - 2]) yield* [[at, y - AWAY - height] as const, [at, y + AWAY] as const];
  }
  for (const { x, y, height: long } of all) {
    if (long < height) continue;
    for (const at of [y + (long - height) / 2, y + 2, y + long - height - 2]) yield* [[x - AWAY - width, at] as const, [x + AWAY, at] as const];
  }
  // A short piece between two boxes of one height: above the lower of them, or below, in sight of the line.
  for (let far = AWAY; far <= FAR; far += STEP) {
    for (const { x, y, width: long } of level) {
      for (const at of [x + (long - width) / 2, x + long - width, x]) yield* [[at, y - far - height] as const, [at, y + far] as const];
    }
  }
}

function pieces(points: Wanted["points"]): Area[] {
  return points.slice(1).map(([x2, y2], i) => {
    const [x1, y1] = points[i] ?? [x2, y2];
    return { x: Math.min(x1, x2), y: Math.min(y1, y2), width: Math.abs(x1 - x2), height: Math.abs(y1 - y2) };
  });
}

/** Areas by the squares they touch. */
class Ground {
  private readonly squares = new Map<string, Area[]>();

  add(area: Area): void {
    for (const key of keys(area)) {
      const known = this.squares.get(key);
      if (known === undefined) this.squares.set(key, [area]);
      else known.push(area);
    }
  }

  isFree(area: Area): boolean {
    return keys(area).every((key) => (this.squares.get(key) ?? []).every((other) => apart(area, other)));
  }
}

function keys({ x, y, width, height }: Area): string[] {
  const found: string[] = [];
  for (let column = Math.floor(x / CELL); column <= Math.floor((x + width) / CELL); column += 1) {
    for (let row = Math.floor(y / CELL); row <= Math.floor((y + height) / CELL); row += 1) found.push(`${column} ${row}`);
  }
  return found;
}

const apart = (a: Area, b: Area): boolean => a.x >= b.x + b.width || b.x >= a.x + a.width || a.y >= b.y + b.height || b.y >= a.y + a.height;
