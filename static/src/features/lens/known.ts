/** What is known of a tensor's values: bytes of its storage, its own list, the first ones, or those of tiles. */
import { windowOf, tensorsOn, type Window } from "../../layout/focus";
import { cellAt } from "../../layout/storage";
import { shadeOf, tileAt, tileChanged, tilesOf, type Tiles } from "../../layout/tiles";
import { itemSize, readValue, recordedAt, type Value } from "../../layout/values";
import type { State, StorageNow, TensorNow } from "../../model/state";

export class Known {
  /** Figures by tiles, of a storage whose bytes were not recorded. */
  readonly tiles: Tiles | null;
  private readonly low: number;
  private readonly span: number;
  private readonly before: Uint8Array | null;
  private readonly hot: Uint8Array | null;
  private readonly scale: number;
  private readonly firsts = new Map<number, Value>();

  constructor(
    state: State,
    private readonly storage: StorageNow,
    private readonly tensor: TensorNow,
    private readonly window: Window,
  ) {
    this.before = state.written.get(storage.id) ?? null;
    this.tiles = storage.bytes !== null || storage.tiles === null ? null : tilesOf(storage.tiles);
    this.scale = window.itemSize / (itemSize(this.tiles?.grid.dtype ?? "") ?? window.itemSize);
    const old = state.retiled.get(storage.id);
    const [tiles, was] = [this.tiles, old == null ? null : tilesOf(old)];
    this.hot = tiles === null || was === null ? null : Uint8Array.from(tiles.mean, (_, tile) => (tileChanged(tiles, was, tile) ? 1 : 0));
    const bounds = this.bounds();
    [this.low, this.span] = [bounds[0], bounds[1] - bounds[0]];
    if (storage.bytes === null) this.findFirsts(state);
  }

  of(index: readonly number[]): Value {
    const { bytes } = this.storage;
    const { view, itemSize: size } = this.window;
    if (this.tensor.values === undefined && bytes !== null) return readValue(bytes, cellAt(view, index) * size, this.tensor.view);
    return plain(recordedAt(this.tensor, index));
  }

  /** By its place in the storage, in elements of the tensor's dtype; not all of them need be the tensor's. */
  at(cell: number): Value {
    const { bytes } = this.storage;
    return bytes === null ? (this.firsts.get(cell) ?? null) : readValue(bytes, cell * this.window.itemSize, this.tensor.view);
  }

  /** Elements whose value is known. */
  count(elements: number): number {
    if (this.storage.bytes !== null && this.tensor.values === undefined) return elements;
    const count = (nested: unknown): number => (Array.isArray(nested) ? nested.reduce<number>((n, each) => n + count(each), 0) : plain(nested) === null ? 0 : 1);
    return count(this.tensor.values ?? this.tensor.summary?.corner);
  }

  changedAt(cell: number): boolean {
    const { bytes } = this.storage;
    if (this.before === null || bytes === null) return false;
    const { itemSize: size } = this.window;
    for (let byte = cell * size; byte < (cell + 1) * size; byte++) if (bytes[byte] !== this.before[byte]) return true;
    return false;
  }

  /** The tile of a cell is not what it was before the step. Null when no tiles before and after are known. */
  get tileChangedAt(): ((cell: number) => boolean) | null {
    const { hot } = this;
    return hot === null ? null : (cell) => hot[this.tileAt(cell)] === 1;
  }

  tileAt(cell: number): number {
    return this.tiles === null ? -1 : tileAt(this.tiles, Math.floor(cell * this.scale));
  }

  /** Where a value stands between the smallest and the largest known; where it is not known, its tile's mean among means. */
  shade(value: Value, cell: number): number | null {
    if (this.tiles !== null) return shadeOf(this.tiles, this.tileAt(cell));
    const number = numberOf(value);
    return number === null || this.span <= 0 ? null : Math.max(0, Math.min(1, (number - this.low) / this.span));
  }

  /** The first values of each tensor of this dtype, by cell. */
  private findFirsts(state: State): void {
    for (const each of tensorsOn(state, this.storage)) {
      const window = windowOf(each);
      const corner: unknown = each.summary?.corner;
      if (window === null || each.view.dtype !== this.tensor.view.dtype || each.view.is_conj || each.view.is_neg || !Array.isArray(corner)) continue;
      const lead = new Array<number>(Math.max(0, window.view.shape.length - 2)).fill(0);
      const put = (...tail: number[]): void => {
        const value = plain(recordedAt(each, [...lead, ...tail]));
        if (value !== null) this.firsts.set(cellAt(window.view, [...lead, ...tail]), value);
      };
      corner.forEach((row: unknown, i) => (window.view.shape.length > 1 && Array.isArray(row) ? row.forEach((_, j) => put(i, j)) : put(i)));
    }
  }

  private bounds(): readonly [number, number] {
    const { summary } = this.tensor;
    if (typeof summary?.minimum === "number" && typeof summary.maximum === "number") return [summary.minimum, summary.maximum];
    const { bytes } = this.storage;
    if (bytes === null) return [0, 0];
    const { itemSize: size } = this.window;
    let [low, high] = [Infinity, -Infinity];
    for (let byte = 0; byte + size <= bytes.length; byte += size) {
      const number = numberOf(readValue(bytes, byte, this.tensor.view));
      if (number === null) continue;
      low = Math.min(low, number);
      high = Math.max(high, number);
    }
    return [low, high];
  }
}

function numberOf(value: Value): number | null {
  const number = Array.isArray(value) ? Math.hypot(value[0], value[1]) : value === null ? Number.NaN : Number(value);
  return Number.isFinite(number) ? number : null;
}

/** A value as records write it: strings for what JSON has no number for. */
function plain(value: unknown): Value {
  if (typeof value === "number" || typeof value === "boolean") return value;
  if (typeof value === "string") return value === "nan" ? Number.NaN : value === "inf" ? Infinity : value === "-inf" ? -Infinity : /^-?\d+$/u.test(value) ? BigInt(value) : null;
  if (Array.isArray(value) && value.length === 2 && value.every((each) => typeof each === "number")) return [value[0] as number, value[1] as number];
  return null;
}
