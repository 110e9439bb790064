/**
 * What the Memory panel shows when the reader points at something, or at nothing yet.
 *
 * Pure: from a state and a focus. Without a focus it is what the step itself wrote or made, so that
 * stepping alone tells the story. Says which views read a byte; does not draw.
 */
import type { Focus, Layer, State, StorageNow, TensorNow } from "../model/state";
import type { Step, Trace } from "../schema/trace.gen";
import { elementsAt, indexAt, isIndexOf, cellAt, strided, type Strided } from "./storage";
import { itemSize } from "./values";

/** What is looked at: a storage, a tensor on it, an element of that, and the byte it begins at. */
export interface Looking {
  readonly storage: number | null;
  readonly tensor: number | null;
  readonly index: readonly number[] | null;
  readonly byte: number | null;
}

/** A tensor as a window on bytes. */
export interface Window {
  readonly tensor: TensorNow;
  readonly view: Strided;
  readonly itemSize: number;
}

/** A view that reads a byte, and which of its elements does. */
export interface Reading {
  readonly tensor: TensorNow;
  readonly index: readonly number[];
  readonly elements: number;
}

/** The tensor as a window; null without strides or with a dtype whose size is unknown. */
export function windowOf(tensor: TensorNow): Window | null {
  const view = strided(tensor.view);
  const size = itemSize(tensor.view.dtype);
  return view === null || size === null ? null : { tensor, view, itemSize: size };
}

/** Live tensors that look at a storage: named ones first, each group in the order they came to be. */
export function tensorsOn(state: State, storage: StorageNow): TensorNow[] {
  const tensors = storage.tensors.flatMap((id) => state.tensors.get(id) ?? []);
  return [...tensors.filter((each) => each.names.length > 0), ...tensors.filter((each) => each.names.length === 0)];
}

/** The first element of a view that holds a byte; null when none does. */
export function elementAtByte({ view, itemSize: size }: Window, byte: number): number[] | null {
  return indexAt(view, Math.floor(byte / size));
}

/** Every live view that reads a byte, named ones first. */
export function readingsOf(state: State, storage: StorageNow, byte: number): Reading[] {
  return tensorsOn(state, storage).flatMap((tensor) => {
    const window = windowOf(tensor);
    const index = window === null ? null : elementAtByte(window, byte);
    if (window === null || index === null) return [];
    return [{ tensor, index, elements: elementsAt(window.view, Math.floor(byte / window.itemSize)) }];
  });
}

/** What to pick when the reader points at a byte: the tensor looked at if it reads it, else the first that does. */
export function focusOnByte(state: State, storage: number, byte: number, current: number | null): Partial<Focus> {
  const now = state.storages.get(storage);
  const readings = now === undefined ? [] : readingsOf(state, now, byte);
  const reading = readings.find(({ tensor }) => tensor.id === current) ?? readings[0];
  if (reading === undefined) return { storage, tensor: null, index: [byte] };
  return { storage, tensor: reading.tensor.id, index: reading.index };
}

/**
 * What is looked at in a state. A focus without a tensor holds the byte as its index.
 * Where the program raised, it is what the error is about; `trace` tells.
 */
export function lookingAt(state: State, focus: Focus, step: Step | undefined, trace: Pick<Trace, "steps" | "explanation" | "outcome"> | null = null): Looking {
  const [failed] = state.step === trace?.steps.length ? tensorsOfFailure(state, trace) : [];
  const id = focusedStorage(state, focus) ?? failed?.storage ?? storageOfStep(state, step);
  const storage = id === null ? undefined : state.storages.get(id);
  if (id === null || storage === undefined) return { storage: null, tensor: null, index: null, byte: null };
  const byte = focus.index?.[0];
  if (focus.tensor === null && focus.storage === id && byte !== undefined && byte < storage.nbytes) {
    return { storage: id, tensor: null, index: null, byte };
  }
  const tensor = tensorOf(state, storage, focus, step, failed);
  const window = tensor === null ? null : windowOf(tensor);
  if (tensor === null || window === null) return { storage: id, tensor: tensor?.id ?? null, index: null, byte: null };
  const { shape } = window.view;
  if (shape.includes(0)) return { storage: id, tensor: tensor.id, index: null, byte: null };
  const chosen = focus.tensor === tensor.id && focus.index !== null && isIndexOf(shape, focus.index);
  const index = chosen && focus.index !== null ? focus.index : shape.map((size) => size - 1);
  return { storage: id, tensor: tensor.id, index, byte: cellAt(window.view, index) * window.itemSize };
}

function focusedStorage(state: State, focus: Focus): number | null {
  const tensor = focus.tensor === null ? undefined : state.tensors.get(focus.tensor);
  const id = tensor?.storage ?? focus.storage;
  return id !== null && state.storages.has(id) ? id : null;
}

/** The storage a step is about: one it wrote, one of a name it changed, else the first still there. */
function storageOfStep(state: State, step: Step | undefined): number | null {
  const alive = [...state.storages.values()].filter((storage) => !storage.freed);
  const named = alive.filter((storage) => tensorsOn(state, storage).some((tensor) => tensor.names.length > 0));
  const written = writtenThrough(state, step)[0]?.storage ?? named.find((storage) => state.written.has(storage.id))?.id;
  if (written !== undefined) return written;
  for (const tensor of changedTensors(state, step)) if (tensor.storage !== null) return tensor.storage;
  const shared = named.find((storage) => storage.tensors.length > 1);
  return (shared ?? named[0] ?? alive[0])?.id ?? null;
}

/** Tensors that saw their values change: that with the fewest elements first, most likely what was written through. */
function writtenThrough(state: State, step: Step | undefined): TensorNow[] {
  return changedTensors(state, step, "data").sort((a, b) => elements(a) - elements(b));
}

/** Tensors of the names a step changed, as its statement has them. */
function changedTensors(state: State, step: Step | undefined, layer?: Layer): TensorNow[] {
  if (step === undefined) return [];
  return tensorsCalled(
    state,
    Object.keys(step.changed).filter((name) => layer === undefined || step.changed[name]?.includes(layer) === true),
  );
}

/** By the names that the explanation gives them; in the frame that is shown they may have none. */
function tensorsOfFailure(state: State, { explanation, outcome }: Pick<Trace, "explanation" | "outcome">): TensorNow[] {
  const operands = outcome.failure?.operands.flatMap(({ tensor }) => state.tensors.get(tensor ?? -1) ?? []) ?? [];
  return [...tensorsCalled(state, explanation?.operands ?? []), ...operands];
}

function tensorsCalled(state: State, names: readonly string[]): TensorNow[] {
  return names.flatMap((name) => {
    const id = state.locals.get(name) ?? state.bindings.get(name);
    return (id === undefined ? undefined : state.tensors.get(id)) ?? [];
  });
}

function tensorOf(state: State, storage: StorageNow, focus: Focus, step: Step | undefined, failed: TensorNow | undefined): TensorNow | null {
  const here = tensorsOn(state, storage);
  const focused = here.find((tensor) => tensor.id === focus.tensor);
  if (focused !== undefined) return focused;
  if (failed?.storage === storage.id) return failed;
  const [written] = writtenThrough(state, step).filter((tensor) => tensor.storage === storage.id);
  const [changed] = changedTensors(state, step).filter((tensor) => tensor.storage === storage.id);
  return written ?? changed ?? here[0] ?? null;
}

const elements = (tensor: TensorNow): number => (tensor.view.shape ?? []).reduce((n, size) => n * size, 1);
