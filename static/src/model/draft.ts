/**
 * The program a reader writes, kept by the browser for as long as its tab is open.
 *
 * The address holds it too, a moment later, and only on the playground: a reload within that moment
 * or a visit to another page would lose it. A frame without storage keeps nothing.
 */

import { isDeviceChoice, type Program } from "./program";

/** A program, whether it has run, and the address it was written at. */
export interface Draft extends Program {
  readonly ran: boolean;
  readonly place: string;
}

const KEY = "playground-program";

/** What of an address says which program it is about: the language does not. */
export function placeOf({ search, hash }: Pick<Location, "search" | "hash">): string {
  const asked = new URLSearchParams(search);
  return ["example", "program"].map((name) => asked.get(name) ?? "").join("|") + hash;
}

/** True for an address that asks for no program of its own. */
export function asksForNothing(place: string): boolean {
  return place === "|";
}

/** Keeps a draft; null forgets it. */
export function keepDraft(draft: Draft | null): void {
  try {
    if (draft === null) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, JSON.stringify(draft));
  } catch {
    // The address still holds it.
  }
}

/** The draft that belongs to an address: written there, or any at an address that asks for nothing. */
export function draftFor(place: string): Draft | null {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(KEY) ?? "null");
    const draft = asDraft(kept);
    if (draft === null) return null;
    return draft.place === place || asksForNothing(place) ? draft : null;
  } catch {
    return null;
  }
}

function asDraft(value: unknown): Draft | null {
  if (typeof value !== "object" || value === null) return null;
  const { source, seed, device, ran, place } = value as Partial<Record<keyof Draft, unknown>>;
  if (typeof source !== "string" || typeof seed !== "number" || !Number.isSafeInteger(seed)) return null;
  if (typeof ran !== "boolean" || typeof place !== "string") return null;
  return { source, seed, device: isDeviceChoice(device) ? device : "auto", ran, place };
}
