/** What grids of cells share: where an arrow key leads, and what is still the same as before. */

/** The cell an arrow key leads to, or null for other keys. */
export function moved(key: string, cell: number, columns: number, count: number): number | null {
  if (cell < 0) return null;
  const start = cell - (cell % columns);
  const to: Readonly<Record<string, number>> = {
    ArrowLeft: cell - 1,
    ArrowRight: cell + 1,
    ArrowUp: cell - columns,
    ArrowDown: cell + columns,
    Home: start,
    End: Math.min(count, start + columns) - 1,
    PageUp: cell % columns,
    PageDown: count - 1,
  };
  const target = to[key];
  if (target === undefined) return null;
  return target < 0 || target >= count ? cell : target;
}

const identities = new WeakMap<object, number>();
let identified = 0;

/** A number that is the same for the same object: cheaper to compare than what is in it. */
export function identity(object: object | null): number {
  if (object === null) return 0;
  const known = identities.get(object) ?? ++identified;
  identities.set(object, known);
  return known;
}
