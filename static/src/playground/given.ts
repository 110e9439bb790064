/** What the page of the playground carries for its script: the examples, and what this server does. */
import type { DeviceChoice } from "../model/program";
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

export function givenLimits(): Limits {
  return dataBlock<Limits>("limits") ?? { run: true, reason: null, ask: false, devices: ["cpu", "simulated-cuda"] };
}
