/**
 * One storage over the whole run: born, written, shared under which names, freed.
 *
 * Read from the events of a trace; steps count from 1. A write is new bytes, or a version counter that
 * rose: writing what was there already is a write too. No DOM, no colour.
 */
import type { Trace } from "../schema/trace.gen";
import type { Lives, StorageLife } from "./lives";

/** A stretch of steps: there after steps `born` to `gone - 1`. */
export interface Stretch {
  readonly born: number;
  /** Infinity when it outlives the trace. */
  readonly gone: number;
}

/** A name while it leads to the storage. */
export interface NameStretch extends Stretch {
  readonly name: string;
  readonly mark: number;
}

export interface Life extends Stretch {
  readonly storage: number;
  readonly nbytes: number;
  readonly device: string;
  /** Steps that wrote it after the one that made it, rising. */
  readonly writes: readonly number[];
  /** Rising by birth; the row a name is drawn in is its place here. */
  readonly names: readonly NameStretch[];
  /** When at least two tensors with names looked at it. */
  readonly shared: readonly Stretch[];
}

/** The life of a storage; null when the trace knows none of that id. */
export function lifeOf(trace: Trace, lives: Lives, storage: number): Life | null {
  const life = lives.storages.find(({ id }) => id === storage);
  if (life === undefined) return null;
  const { id, nbytes, device, born, gone } = life;
  return { storage: id, nbytes, device, born, gone, writes: writesOf(trace, life), names: namesOf(life), shared: sharedOf(life) };
}

/** The last step before `step`, or the first after it, that wrote; the making counts as the first write. */
export function writeFrom(life: Life, step: number, way: "previous" | "next"): number | null {
  const all = [life.born, ...life.writes];
  const found = way === "next" ? all.find((each) => each > step) : all.findLast((each) => each < step);
  return found ?? null;
}

function writesOf(trace: Trace, life: StorageLife): number[] {
  const versions = new Map<number, number | null>();
  const on = new Map<number, number | null>();
  const found = new Set<number>();
  trace.steps.forEach((step, index) => {
    const number = index + 1;
    for (const event of step.events) {
      if (event.kind === "bytes" && event.storage === life.id && !event.late) found.add(number);
      if (event.kind !== "tensor") continue;
      const same = on.get(event.id) === event.storage;
      const before = versions.get(event.id) ?? null;
      on.set(event.id, event.storage);
      versions.set(event.id, event.version);
      if (event.storage !== life.id || !same || before === null || event.version === null) continue;
      if (event.version > before) found.add(number);
    }
  });
  return [...found].filter((step) => step > life.born && step <= life.gone).sort((a, b) => a - b);
}

function namesOf(life: StorageLife): NameStretch[] {
  return life.views.flatMap(({ name, mark, born, gone }) => {
    return name === null ? [] : [{ name, mark, born, gone: Math.min(gone, life.gone) }];
  });
}

/** Sweeps over the ends of the names' stretches. */
function sharedOf(life: StorageLife): Stretch[] {
  const names = namesOf(life).filter(({ born, gone }) => gone > born);
  const ends = [...new Set(names.flatMap(({ born, gone }) => [born, gone]))].sort((a, b) => a - b);
  const shared: { born: number; gone: number }[] = [];
  for (const [at, born] of ends.entries()) {
    const gone = ends[at + 1];
    if (gone === undefined || names.filter((each) => each.born <= born && each.gone > born).length < 2) continue;
    const last = shared.at(-1);
    if (last?.gone === born) last.gone = gone;
    else shared.push({ born, gone });
  }
  return shared;
}
