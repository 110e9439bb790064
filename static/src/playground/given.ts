/** What the page of the playground carries for its script: the examples, and what this server does. */
import { plain, sameProgram, type DeviceChoice, type Program } from "../model/program";
import { dataBlock } from "../page";

export interface Example {
  readonly id: string;
  /** What its embed is called: `examples.views`. */
  readonly key: string;
  readonly title: string;
  readonly source: string;
  /** Address of its recorded trace. */
  readonly src: string;
}

/** A program of ours with the address of its recorded trace. */
export interface Recorded {
  readonly source: string;
  readonly src: string;
}

/** Two programs of ours that show one difference. */
export interface PreparedPair {
  readonly id: string;
  readonly title: string;
  readonly left: Recorded;
  readonly right: Recorded;
}

export interface Limits {
  readonly run: boolean;
  readonly reason: string | null;
  /** Nothing that came with an address runs by itself: there is no sandbox here. */
  readonly ask: boolean;
  /** What programs may be given here besides `auto`. */
  readonly devices: readonly DeviceChoice[];
}

export function givenExamples(): readonly Example[] {
  return dataBlock<Example[]>("examples") ?? [];
}

export function givenPairs(): readonly PreparedPair[] {
  return dataBlock<PreparedPair[]>("pairs") ?? [];
}

/** Where the recorded trace of a program is; null for any that is not one of ours as it is. */
export function recordedTraceOf(program: Program): string | null {
  const ours = [...givenExamples(), ...givenPairs().flatMap(({ left, right }) => [left, right])];
  return ours.find(({ source }) => sameProgram(program, plain(source)))?.src ?? null;
}

export function givenLimits(): Limits {
  return dataBlock<Limits>("limits") ?? { run: true, reason: null, ask: false, devices: ["cpu", "simulated-cuda"] };
}
