/** Two programs in an address: the left one as `link.ts` writes any, the right one with a 2 at its names. */
import { readLink, squeeze, linkTo, stepOf } from "./link";
import type { Program } from "./program";

export interface PairLink {
  readonly left: Program;
  readonly right: Program;
  readonly row: number | null;
}

/** The hash of an address for two programs and the row of steps that is shown. */
export async function linkToPair(left: Program, right: Program, row: number | null): Promise<string> {
  const second = `&z2=${await squeeze(right.source)}${right.device === "auto" ? "" : `&device2=${right.device}`}${right.seed === 0 ? "" : `&seed2=${right.seed}`}`;
  return `${await linkTo(left, null)}${second}${row === null ? "" : `&step=${row}`}`;
}

/** Reads such a hash; null when either program cannot be read. */
export async function readPair(hash: string): Promise<PairLink | null> {
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  const other = new URLSearchParams();
  for (const name of ["z", "device", "seed"]) {
    const value = parts.get(`${name}2`);
    if (value !== null) other.set(name, value);
  }
  const [left, right] = [await readLink(hash), await readLink(`#${other.toString()}`)];
  if (left.source === null || right.source === null) return null;
  const program = ({ source, seed, device }: typeof left): Program => ({ source: source ?? "", seed, device });
  return { left: program(left), right: program(right), row: stepOf(parts) };
}
