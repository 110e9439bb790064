/**
 * What two states of two programs have otherwise, by the names of variables: facts, in the four layers.
 *
 * Each fact is the id of a message and its arguments. Addresses and ids differ between any two runs
 * and are not compared; sharing is, name by name. What was not recorded is not said to differ.
 */
import { cellsOf, numel, strided } from "../layout/storage";
import { exactText, itemSize, readValue, sameValue, type Value } from "../layout/values";
import type { Layer, NodeNow, State, TensorNow } from "../model/state";

export interface Difference {
  /** Null: names, before any layer. */
  readonly layer: Layer | null;
  readonly id: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** The variables it is about. */
  readonly names: readonly string[];
}

/** Two states, and which line of the left program a line of the right one belongs to. */
export interface Sides {
  readonly left: State;
  readonly right: State;
  pairedLine(side: "left" | "right", line: number | null): string;
}

const MOST_VALUES = 4096;

/** Everything that differs, the most telling first. */
export function differences(sides: Sides): readonly Difference[] {
  const [left, right] = [namesOf(sides.left), namesOf(sides.right)];
  const both = [...left.keys()].filter((name) => right.has(name));
  return [
    ...alone(left, right),
    ...sharing(sides, left, right, both),
    ...merged(both.flatMap((name) => attributes(name, left.get(name), right.get(name)))),
    ...both.flatMap((name) => values(name, sides, left.get(name), right.get(name))),
    ...nodes(sides),
    ...totals(sides),
  ];
}

/** The tensors that names reach, `.grad` included. */
function namesOf(state: State): ReadonlyMap<string, TensorNow> {
  const found = new Map<string, TensorNow>();
  for (const [name, id] of [...state.bindings, ...state.locals]) {
    const tensor = state.tensors.get(id);
    if (tensor === undefined) continue;
    found.set(name, tensor);
    const grad = tensor.grad === null ? undefined : state.tensors.get(tensor.grad);
    if (grad !== undefined) found.set(`${name}.grad`, grad);
  }
  return found;
}

const isGrad = (name: string): boolean => name.endsWith(".grad");

function alone(left: ReadonlyMap<string, TensorNow>, right: ReadonlyMap<string, TensorNow>): Difference[] {
  const only = (side: "left" | "right", mine: ReadonlyMap<string, TensorNow>, other: ReadonlyMap<string, TensorNow>): Difference[] => {
    const missing = [...mine.keys()].filter((name) => !other.has(name));
    return [missing.filter((name) => !isGrad(name)), missing.filter(isGrad)].flatMap((names, kind) => {
      return names.length === 0 ? [] : [{ layer: kind === 0 ? null : "autograd", id: "ui.compare.fact.only", args: { names, side }, names } as const];
    });
  };
  return [...only("left", left, right), ...only("right", right, left)];
}

/** Pairs of names that share a storage on one side only. */
function sharing({ left, right }: Sides, of: ReadonlyMap<string, TensorNow>, other: ReadonlyMap<string, TensorNow>, both: readonly string[]): Difference[] {
  const shares = (side: ReadonlyMap<string, TensorNow>, a: string, b: string): boolean => {
    const storage = side.get(a)?.storage ?? null;
    return storage !== null && storage === side.get(b)?.storage;
  };
  const found: Difference[] = [];
  const candidates = both.filter((name) => isShared(left, of.get(name)) || isShared(right, other.get(name)));
  candidates.slice(0, 64).forEach((a, index) => {
    for (const b of candidates.slice(0, index)) {
      const [here, there] = [shares(of, a, b), shares(other, a, b)];
      if (here === there || alreadyTold(found, of, other, a, b, here)) continue;
      found.push({ layer: "data", id: "ui.compare.fact.shares", args: { name: a, other: b, side: here ? "left" : "right" }, names: [a, b] });
    }
  });
  return found;
}

function isShared(state: State, tensor: TensorNow | undefined): boolean {
  return tensor?.storage != null && (state.storages.get(tensor.storage)?.tensors.length ?? 0) > 1;
}

/** y shares x's storage, z shares y's: that z shares x's follows. */
function alreadyTold(found: readonly Difference[], of: ReadonlyMap<string, TensorNow>, other: ReadonlyMap<string, TensorNow>, a: string, b: string, here: boolean): boolean {
  const side = here ? of : other;
  return found.some(({ args, names }) => {
    const sameSide = args["side"] === (here ? "left" : "right");
    return sameSide && names[0] === a && side.get(names[1] ?? "")?.storage === side.get(b)?.storage;
  });
}

type Attribute = readonly [layer: Layer, attribute: string, read: (tensor: TensorNow) => string | null];

const ATTRIBUTES: readonly Attribute[] = [
  ["metadata", "shape", ({ view }) => tuple(view.shape)],
  ["metadata", "stride()", ({ view }) => tuple(view.stride)],
  ["metadata", "storage_offset()", ({ view }) => (view.storage_offset === null ? null : String(view.storage_offset))],
  ["metadata", "dtype", ({ view }) => view.dtype],
  ["metadata", "layout", ({ view }) => view.layout],
  ["metadata", "is_contiguous()", ({ view }) => python(view.is_contiguous)],
  ["metadata", "is_conj()", ({ view }) => python(view.is_conj)],
  ["metadata", "is_neg()", ({ view }) => python(view.is_neg)],
  ["autograd", "requires_grad", ({ view }) => python(view.requires_grad)],
  ["autograd", "is_leaf", ({ view }) => python(view.is_leaf)],
  ["autograd", "_version", ({ version }) => (version === null ? null : String(version))],
  ["device", "device", ({ view }) => view.device],
];

function attributes(name: string, left: TensorNow | undefined, right: TensorNow | undefined): Difference[] {
  if (left === undefined || right === undefined) return [];
  return ATTRIBUTES.flatMap(([layer, attribute, read]) => {
    const [here, there] = [read(left), read(right)];
    if (here === there || here === null || there === null) return [];
    // That a contiguous tensor is not contiguous follows from its strides.
    if (attribute === "is_contiguous()" && tuple(left.view.stride) !== tuple(right.view.stride)) return [];
    return [{ layer, id: "ui.compare.fact.attribute", args: { attribute, left: here, right: there }, names: [name] }];
  });
}

/** Facts that say the same of several names become one. */
function merged(found: readonly Difference[]): Difference[] {
  const groups = new Map<string, Difference[]>();
  for (const each of found) {
    const key = JSON.stringify([each.id, each.args]);
    groups.set(key, [...(groups.get(key) ?? []), each]);
  }
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    const names = group.flatMap((each) => each.names);
    return first === undefined ? [] : [{ ...first, args: { ...first.args, names }, names }];
  });
}

function values(name: string, { left, right }: Sides, here: TensorNow | undefined, there: TensorNow | undefined): Difference[] {
  if (here === undefined || there === undefined || tuple(here.view.shape) !== tuple(there.view.shape)) return [];
  const layer = isGrad(name) ? "autograd" : "data";
  const [mine, theirs] = [valuesOf(left, here), valuesOf(right, there)];
  if (mine === null || theirs === null) return [];
  const unlike = mine.flatMap((value, index) => (sameValue(value, theirs[index] ?? null) ? [] : [index]));
  const [first] = unlike;
  if (first === undefined) return [];
  const shape = here.view.shape ?? [];
  const args = {
    name,
    count: unlike.length,
    size: mine.length,
    element: `${name}${shape.length === 0 ? ".item()" : `[${indexOf(first, shape).join(", ")}]`}`,
    left: exactText(mine[first] ?? null, here.view.dtype),
    right: exactText(theirs[first] ?? null, there.view.dtype),
  };
  return [{ layer, id: "ui.compare.fact.values", args, names: [name] }];
}

/** The values of a tensor, last index fastest; null when they were not recorded. */
export function valuesOf(state: State, tensor: TensorNow): readonly Value[] | null {
  const { view } = tensor;
  if (view.shape === null || numel(view.shape) > MOST_VALUES) return null;
  if (tensor.values !== undefined) return flat(tensor.values);
  const place = strided(view);
  const bytes = tensor.storage === null ? null : (state.storages.get(tensor.storage)?.bytes ?? null);
  const item = itemSize(view.dtype);
  if (place === null || bytes === null || item === null) return null;
  return cellsOf(place).map((cell) => readValue(bytes, cell * item, view));
}

function flat(nested: unknown): readonly Value[] {
  if (Array.isArray(nested)) return nested.flatMap(flat);
  return [typeof nested === "number" || typeof nested === "boolean" ? nested : null];
}

function indexOf(element: number, shape: readonly number[]): number[] {
  const index: number[] = [];
  for (let rest = element, d = shape.length - 1; d >= 0; d -= 1) {
    const size = shape[d] ?? 1;
    index.unshift(rest % size);
    rest = Math.floor(rest / size);
  }
  return index;
}

/** What made each name, and saved tensors that went stale or were freed on one side only. */
function nodes(sides: Sides): Difference[] {
  return merged([...makers(sides), ...slots(sides, "stale"), ...slots(sides, "freed")]);
}

function makers({ left, right }: Sides): Difference[] {
  const [mine, theirs] = [namesOf(left), namesOf(right)];
  return [...mine].flatMap(([name, tensor]) => {
    const other = theirs.get(name);
    if (other === undefined) return [];
    const [here, there] = [nodeName(left, tensor.gradFn), nodeName(right, other.gradFn)];
    if (here === there) return [];
    return [{ layer: "autograd", id: "ui.compare.fact.attribute", args: { attribute: "grad_fn", left: here, right: there }, names: [name] } as const];
  });
}

function nodeName(state: State, id: number | null): string {
  return id === null ? "None" : (state.nodes.get(id)?.name ?? "?");
}

function slots({ left, right, pairedLine }: Sides, what: "stale" | "freed"): Difference[] {
  const marked = (side: "left" | "right", state: State): Map<string, NodeNow> => {
    const found = new Map<string, NodeNow>();
    for (const node of state.nodes.values()) {
      if (node.saved.some((slot) => slot[what])) found.set(`${node.name} ${pairedLine(side, node.line)}`, node);
    }
    return found;
  };
  const [mine, theirs] = [marked("left", left), marked("right", right)];
  const only = (side: "left" | "right", here: Map<string, NodeNow>, there: Map<string, NodeNow>): Difference[] => {
    const nodes = [...here].filter(([key]) => !there.has(key)).map(([, node]) => node);
    if (nodes.length === 0) return [];
    const names = nodes.map(({ name }) => name);
    const different = [...new Set(names)];
    const args = { nodes: different.length > 1 ? different : names, line: nodes[0]?.line ?? 0, side };
    return [{ layer: "autograd", id: `ui.compare.fact.${what}`, args, names: [] }];
  };
  return [...only("left", mine, theirs), ...only("right", theirs, mine)];
}

/** How much of the graph, and how many bytes on all devices together, are alive. */
function totals({ left, right }: Sides): Difference[] {
  const bytes = (state: State): number => [...state.alive.values()].reduce((sum, each) => sum + each, 0);
  const told = (layer: Layer, id: string, here: number, there: number): Difference[] => {
    return here === there ? [] : [{ layer, id, args: { left: here, right: there }, names: [] }];
  };
  return [
    ...told("autograd", "ui.compare.fact.nodes", left.nodes.size, right.nodes.size),
    ...told("data", "ui.compare.fact.alive", bytes(left), bytes(right)),
  ];
}

/** `(3, 4)` as Python writes it. */
function tuple(numbers: readonly number[] | null): string | null {
  if (numbers === null) return null;
  return numbers.length === 1 ? `(${numbers[0]},)` : `(${numbers.join(", ")})`;
}

const python = (value: boolean | null): string | null => (value === null ? null : value ? "True" : "False");
