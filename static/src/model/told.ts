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
  /** Why it failed: where it was raised, and at the calls it came through. */
  readonly error: readonly Sentence[];
  /** What the compiler did: a call of compiled code is one step. */
  readonly compiled: readonly Sentence[];
  /** What its names did. */
  readonly names: readonly Sentence[];
  /** What was noticed on its line. */
  readonly notes: readonly Sentence[];
}

/** What is said of a step; of step 0, before which nothing ran, nothing. */
export function toldOf(trace: Trace, outline: Outline, step: number): Told {
  const numbers = (step === 0 ? undefined : trace.said[step - 1]) ?? [];
  const said = numbers.flatMap((number) => trace.sentences[number] ?? []);
  const beside = said.filter((each) => each.layer === null);
  const byCompiler = (each: Sentence): boolean => each.id.startsWith("compiled.");
  const here = outline.steps[step - 1];
  return {
    layers: LAYERS.map((layer) => ({ layer, sentences: said.filter((each) => each.layer === layer) })),
    error: raising(trace, outline).includes(step) ? (trace.explanation?.sentences ?? []) : [],
    compiled: beside.filter(byCompiler),
    names: beside.filter((each) => !byCompiler(each)),
    notes: trace.notes.filter((note) => note.line === here?.line).map((note) => note.sentence),
  };
}

/** Steps that the exception which ended the run went through: where it was raised, then the calls around it. */
export function raising(trace: Trace, outline: Outline): readonly number[] {
  const last = outline.steps.at(-1);
  if (last?.raised !== true) return [];
  const inner = outline.steps.findLast((step) => step.raised && step.line === trace.outcome.line) ?? last;
  return [inner.number, ...outline.callers(inner.number).map(({ number }) => number)];
}
