/** Small marks that mean the same in every view: a storage's label, a view's swatch, bytes in words. */
import { el } from "./dom";

/** `S0` on the storage's colour. */
export function storageBadge(id: number, colour: number): HTMLElement {
  return el("span", { class: `badge badge-${colour}`, "data-storage": id }, `S${id}`);
}

/** The square of a view; from the fifth on hatched, with its number. */
export function swatch(mark: number): HTMLElement {
  const many = mark > 4;
  return el("span", { class: `swatch ${markClass(mark)}`, "aria-hidden": "true" }, many ? String(mark) : null);
}

/** The class that gives something the fill of a view. */
export function markClass(mark: number): string {
  return mark === 0 ? "mark-none" : mark > 4 ? "mark-more" : `mark-${mark}`;
}

/** `(3, 4)`, `(3,)`, `()` as Python writes a tuple. */
export function tuple(numbers: readonly number[] | null): string {
  if (numbers === null) return "–";
  return numbers.length === 1 ? `(${numbers[0]},)` : `(${numbers.join(", ")})`;
}

/** `z[1, 1]`; a 0-d tensor is its name alone. */
export function element(name: string, index: readonly number[]): string {
  return index.length === 0 ? name : `${name}[${index.join(", ")}]`;
}

/** A name whose end tells it from others, cut at its beginning to so many characters. */
export function ending(name: string, room: number): string {
  return name.length <= room ? name : `…${name.slice(1 - room)}`;
}
