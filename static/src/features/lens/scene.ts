/**
 * What a lens shows: one tensor, its storage, one element of it.
 *
 * A tensor the reader chose stays while there is one by that id; else it is what the Memory panel looks at.
 */
import { lookingAt, tensorsOn, windowOf, type Looking, type Window } from "../../layout/focus";
import { NO_FOCUS, type Focus, type State, type StorageNow, type TensorNow } from "../../model/state";
import type { Trace } from "../../schema/trace.gen";

export interface Scene {
  readonly state: State;
  readonly looking: Looking;
  readonly storage: StorageNow | null;
  readonly tensor: TensorNow | null;
  /** Null without strides, or of a dtype whose size is unknown. */
  readonly window: Window | null;
}

/** A lens: a picture below the tabs. */
export interface Lens {
  readonly root: HTMLElement;
  show(scene: Scene): void;
}

/** The tensor the reader stays with, from step to step. */
export class Choice {
  private tensor: number | null = null;
  private index: readonly number[] | null = null;

  choose(tensor: number): void {
    this.tensor = tensor;
    this.index = null;
  }

  scene(trace: Trace, state: State, focus: Focus): Scene {
    const pointed = focus.tensor !== null || focus.storage !== null;
    if (pointed && focus.tensor !== null) [this.tensor, this.index] = [focus.tensor, focus.index];
    const kept = this.tensor !== null && state.tensors.get(this.tensor)?.storage != null;
    const own = !pointed && kept ? { ...NO_FOCUS, tensor: this.tensor, index: this.index } : focus;
    const looking = lookingAt(state, own, state.step === 0 ? undefined : trace.steps[state.step - 1], trace);
    const storage = looking.storage === null ? null : (state.storages.get(looking.storage) ?? null);
    const tensor = looking.tensor === null ? null : (state.tensors.get(looking.tensor) ?? null);
    return { state, looking, storage, tensor, window: tensor === null ? null : windowOf(tensor) };
  }
}

/** Tensors with a name and a storage, by storage. */
export function choices(state: State): (readonly [StorageNow, TensorNow[]])[] {
  return [...state.storages.values()].flatMap((storage) => {
    const named = tensorsOn(state, storage).filter(({ names }) => names.length > 0);
    return named.length === 0 ? [] : [[storage, named] as const];
  });
}
