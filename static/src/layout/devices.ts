/**
 * Where storages are drawn: a lane per device, places in it, who stands in which place and when.
 *
 * Places are given out once for the whole trace, so that nothing moves from step to step. A place is
 * taken again by a storage of the same form once the one before was freed: a loop that makes a
 * tensor a round needs one place, not a thousand. No DOM, no colour.
 */
import type { Lives, StorageLife, TransferLife } from "./lives";
import { gridShape, strided, type GridShape } from "./storage";
import { exactText, itemSize, readValue } from "./values";

/** How a place is drawn. `chip`: a storage without a name. `pixels`: too many cells for an element each. */
export type PlaceKind = "shared" | "single" | "chip" | "pixels";

export interface Place {
  readonly kind: PlaceKind;
  readonly grid: GridShape;
  /** Bytes per cell. */
  readonly cellSize: number;
  /** Characters the longest value seen needs, at most 6. */
  readonly room: number;
  /** In the order they came to be; their lives do not overlap. */
  readonly storages: readonly StorageLife[];
}

export interface Lane {
  readonly device: string;
  readonly places: readonly Place[];
  readonly chips: readonly Place[];
}

/** Cells up to which each is an element of its own. */
export const MOST_CELLS = 400;
const MOST_PLACES = 60;
const MOST_CHIPS = 40;
const LONGEST = 6;

/** The lanes of a trace: the CPU first, other devices as they came, meta last. */
export function lanesOf(lives: Lives): Lane[] {
  const devices = new Set(["cpu", ...lives.storages.map((storage) => storage.device)]);
  const order = (device: string): number => (device === "cpu" ? 0 : device === "meta" ? 2 : 1);
  return [...devices].sort((a, b) => order(a) - order(b)).map((device) => lane(device, lives));
}

function lane(device: string, lives: Lives): Lane {
  const here = lives.storages.filter((storage) => storage.device === device);
  const places = new Places();
  for (const storage of here) if (storage.named) places.add(storage, MOST_PLACES);
  const chips = new Places();
  // What was made and freed within one step was never there to see.
  const unplaced = here.filter((storage) => !places.has(storage) && storage.gone > storage.born);
  for (const storage of unplaced) chips.add(storage, MOST_CHIPS);
  return { device, places: places.all(), chips: chips.all() };
}

type Growing = Omit<Place, "storages" | "room"> & { storages: StorageLife[]; room: number };

class Places {
  private readonly places: Growing[] = [];
  private readonly placed = new Set<StorageLife>();

  has(storage: StorageLife): boolean {
    return this.placed.has(storage);
  }

  all(): Place[] {
    return this.places;
  }

  add(storage: StorageLife, most: number): void {
    const form = formOf(storage);
    const free = this.places.find((place) => {
      return sameForm(place, form) && (place.storages.at(-1)?.gone ?? 0) <= storage.born;
    });
    if (free === undefined && this.places.length >= most) return;
    this.placed.add(storage);
    if (free === undefined) this.places.push({ ...form, storages: [storage] });
    else {
      free.storages.push(storage);
      free.room = Math.max(free.room, form.room);
    }
  }
}

type Form = Omit<Place, "storages">;

function formOf(storage: StorageLife): Form {
  const view = storage.first === null ? null : strided(storage.first);
  const cellSize = (storage.first === null ? null : itemSize(storage.first.dtype)) ?? 1;
  const cells = Math.floor(storage.nbytes / cellSize);
  if (!storage.named) return { kind: "chip", grid: gridShape(view, cells), cellSize, room: 0 };
  if (cells > MOST_CELLS) return { kind: "pixels", grid: gridShape(view, cells), cellSize, room: 0 };
  const room = roomOf(storage);
  const grid = gridShape(view, cells, room > 3 ? 8 : 16);
  const marks = Math.max(...storage.views.map((each) => each.mark));
  return { kind: marks > 1 ? "shared" : "single", grid, cellSize, room };
}

function sameForm(a: Form, b: Form): boolean {
  if (a.kind !== b.kind) return false;
  if (a.kind === "chip") return true;
  return a.cellSize === b.cellSize && a.grid.columns === b.grid.columns && a.grid.rows === b.grid.rows;
}

function roomOf(storage: StorageLife): number {
  const { first } = storage;
  const size = first === null ? null : itemSize(first.dtype);
  if (first === null || size === null) return 1;
  let room = 1;
  for (const sample of storage.samples) {
    const bytes = Uint8Array.from(atob(sample), (char) => char.charCodeAt(0));
    for (let byte = 0; byte + size <= bytes.length; byte += size) {
      room = Math.max(room, exactText(readValue(bytes, byte, first), first.dtype).length);
    }
  }
  return Math.min(LONGEST, room);
}

/** Who stands in a place after a step: the last that came, freed or not; null while it is empty. */
export function occupantOf(place: Place, step: number): StorageLife | null {
  return place.storages.findLast((storage) => storage.born <= step) ?? null;
}

/** Copies made up to a step, the latest first. */
export function transfersUntil(lives: Lives, step: number): TransferLife[] {
  return lives.transfers.filter((transfer) => transfer.step <= step).reverse();
}

/** The first copy to a device, if it comes after a step. */
export function nextTransfer(lives: Lives, device: string, step: number): TransferLife | null {
  return lives.transfers.find((transfer) => transfer.to === device && transfer.step > step) ?? null;
}

/** Colours there are for storages; a label always repeats what the colour says. */
const COLOURS = 8;

/** Storage id → which colour its label has in every view, 1 to 8; 0 for those that no step ends with. */
export function storageColours(lives: Lives): ReadonlyMap<number, number> {
  let seen = 0;
  return new Map(
    lives.storages.map(({ id, named, born, gone }) => [id, named || gone > born ? (seen++ % COLOURS) + 1 : 0]),
  );
}
