/** What is run: a program, the seed of its random numbers, and the device it is given. */

/** What a program may use besides the CPU. `auto`: what it names. */
export type DeviceChoice = "auto" | "cpu" | "cuda" | "simulated-cuda";
export const DEVICE_CHOICES: readonly DeviceChoice[] = ["auto", "cpu", "simulated-cuda", "cuda"];

export interface Program {
  readonly source: string;
  readonly seed: number;
  readonly device: DeviceChoice;
}

/** A program as it runs when nobody chose anything. */
export function plain(source: string): Program {
  return { source, seed: 0, device: "auto" };
}

export function sameProgram(a: Program, b: Program): boolean {
  return a.source === b.source && a.seed === b.seed && a.device === b.device;
}

/** True for one of the choices; anything else an address says is not followed. */
export function isDeviceChoice(value: unknown): value is DeviceChoice {
  return DEVICE_CHOICES.includes(value as DeviceChoice);
}
