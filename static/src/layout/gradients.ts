/** Gradients in few words: their values when they are few, else shape and norm. No DOM. */
import type { State } from "../model/state";
import type { Gradient } from "./backward";
import { cellsOf, numel, strided } from "./storage";
import { itemSize, readValue } from "./values";

const MOST = 6;
const MOST_READ = 1024;
type Say = (id: string, args?: Record<string, unknown>) => string;

/** `[1, 2.718]`, else `(16, 8), norm 0.0123`. */
export function gradientText({ values, shape, norm }: Pick<Gradient, "values" | "shape" | "norm">, say: Say): string {
  const flat = flatten(values);
  if (flat !== null && flat.length <= MOST && nestedDepth(values) <= 1) return listText(flat, nestedDepth(values) === 0);
  const form = shape === null ? "?" : `(${shape.join(", ")}${shape.length === 1 ? "," : ""})`;
  return norm === null ? form : say("ui.backward.norm", { shape: form, norm: number(norm) });
}

/** Numbers as they stand in a list. */
export function listText(values: readonly unknown[], scalar = false): string {
  const texts = values.slice(0, MOST).map(number);
  if (scalar) return texts[0] ?? "";
  return `[${texts.join(", ")}${values.length > MOST ? ", …" : ""}]`;
}

/** The elements a tensor had before this step; null when they were not recorded. */
export function elementsOf(state: State, tensor: number): unknown[] | null {
  const storage = state.tensors.get(tensor)?.storage ?? null;
  return storage === null ? null : read(state, tensor, state.written.get(storage) ?? state.storages.get(storage)?.bytes ?? null);
}

/** Those it has after this step. */
export function elementsNow(state: State, tensor: number): unknown[] | null {
  const storage = state.tensors.get(tensor)?.storage ?? null;
  return storage === null ? null : read(state, tensor, state.storages.get(storage)?.bytes ?? null);
}

function read(state: State, tensor: number, bytes: Uint8Array | null): unknown[] | null {
  const now = state.tensors.get(tensor);
  const window = now === undefined ? null : strided(now.view);
  const size = now === undefined ? null : itemSize(now.view.dtype);
  if (now === undefined || window === null || bytes === null || size === null || numel(window.shape) > MOST_READ) return null;
  return cellsOf(window).slice(0, MOST + 1).map((cell) => readValue(bytes, cell * size, now.view));
}

function flatten(values: unknown): unknown[] | null {
  if (values === null || values === undefined) return null;
  return Array.isArray(values) ? values.flat(Infinity) : [values];
}

function nestedDepth(values: unknown): number {
  return Array.isArray(values) ? 1 + nestedDepth(values[0]) : 0;
}

function number(value: unknown): string {
  return typeof value === "number" ? String(Number(value.toPrecision(4))) : String(value);
}
