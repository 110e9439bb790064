/**
 * What is said of a step: of each layer, "no change" included, and beside the layers.
 *
 * The panel of changes, its live region and the table of the whole run say the same. No words here, only
 * which sentences they are.
 */
import type { Sentence, Trace } from "../schema/trace.gen";
import type { Outline } from "./outline";
import { LAYERS, type Layer } from "./state";

export interface Told {
  readonly layers: readonly { readonly layer: Layer; readonly sentences: readonly Sentence[] }[];
  /** Why it failed. */
  readonly error: readonly Sentence[];
  /** What its names did. */
  readonly names: readonly Sentence[];
  /** What was noticed on its line. */
  readonly notes: readonly Sentence[];
}

/** What is said of a step; of step 0, before which nothing ran, nothing. */
export function toldOf(trace: Trace, outline: Outline, step: number): Told {
  const numbers = (step === 0 ? undefined : trace.said[step - 1]) ?? [];
  const said = numbers.flatMap((number) => trace.sentences[number] ?? []);
  const here = outline.steps[step - 1];
  const last = here?.raised === true && step === outline.steps.length;
  return {
    layers: LAYERS.map((layer) => ({ layer, sentences: said.filter((each) => each.layer === layer) })),
    error: last ? (trace.explanation?.sentences ?? []) : [],
    names: said.filter((each) => each.layer === null),
    notes: trace.notes.filter((note) => note.line === here?.line).map((note) => note.sentence),
  };
}
