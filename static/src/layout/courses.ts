/**
 * How the values that a name leads to went from step to step: the spread after each step that changed it.
 *
 * One pass over the events; values are only read again where the name, its tensor or its bytes changed.
 */
import { World } from "../model/world";
import type { Trace } from "../schema/trace.gen";
import { bytesOf, spreadOf, type Known, type Spread } from "./spread";

export interface CoursePoint {
  readonly step: number;
  /** Null while the name leads to nothing, or nothing is known of the values. */
  readonly spread: Spread | null;
}

/** The variable that an expression starts with: `model` of `model[0].weight`. */
function rootOf(path: string): string {
  return /^[^\W\d][\w]*/u.exec(path)?.[0] ?? path;
}

const GRAD = ".grad";

/** The tensor that an expression leads to in a frame; `.grad` of a name too. */
export function tensorNamed(world: World, frame: number, path: string): number | null {
  const paths = world.names.get(frame)?.get(rootOf(path));
  const id = paths?.[path];
  if (id !== undefined) return world.tensors.has(id) ? id : null;
  if (!path.endsWith(GRAD)) return null;
  const owner = tensorNamed(world, frame, path.slice(0, -GRAD.length));
  const grad = owner === null ? null : (world.tensors.get(owner)?.grad ?? null);
  return grad !== null && world.tensors.has(grad) ? grad : null;
}

/** What the events so far say of a tensor's values. */
export function knownOf(world: World, trace: Trace, id: number): Known | null {
  const tensor = world.tensors.get(id);
  const view = tensor === undefined ? undefined : trace.views[tensor.view];
  if (tensor === undefined || view === undefined) return null;
  const storage = tensor.storage === null ? undefined : world.storages.get(tensor.storage);
  const own = world.values.get(id);
  return { view, bytes: bytesOf(storage?.bytes ?? null), values: own?.values, summary: own?.summary ?? null };
}

/** The points where the values of a name changed, from the first step on. */
export function courseOf(trace: Trace, frame: number, path: string): readonly CoursePoint[] {
  const world = new World();
  const points: CoursePoint[] = [];
  let before: readonly unknown[] = [null];
  trace.steps.forEach((step, index) => {
    world.applyStep(trace, step);
    const id = tensorNamed(world, frame, path);
    const tensor = id === null ? undefined : world.tensors.get(id);
    const storage = tensor?.storage == null ? undefined : world.storages.get(tensor.storage);
    const now = tensor === undefined || id === null ? [null] : [id, tensor.view, storage?.bytes, world.values.get(id)];
    if (now.length === before.length && now.every((each, i) => each === before[i])) return;
    before = now;
    const known = id === null ? null : knownOf(world, trace, id);
    points.push({ step: index + 1, spread: known === null ? null : spreadOf(known) });
  });
  return points;
}
