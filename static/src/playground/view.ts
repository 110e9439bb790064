/**
 * What a reader has open beside the program and the step: a lens, strips, a tab, the memory ledger, the graph as a
 * list, the element that is looked at. It goes into the address as a few words, and comes back from there.
 *
 * All of these have a button that says whether it is on: that is read, and pressed. What is as it is at first is not
 * written, so addresses stay short and older ones mean what they meant.
 */
import type { Player } from "../player";
import { pick } from "../views/view";

/** A word of the address, the buttons it is about, and which attribute says that one is on. */
interface Choice {
  readonly word: string;
  readonly buttons: string;
  readonly named: string;
  readonly on: "aria-pressed" | "aria-selected" | "aria-expanded";
  /** What is on at first. */
  readonly usual: string | null;
}

const CHOICES: readonly Choice[] = [
  { word: "lens", buttons: ".lens-buttons button", named: "data-lens", on: "aria-pressed", usual: null },
  { word: "cells", buttons: ".player-memory [data-mode]", named: "data-mode", on: "aria-pressed", usual: "grid" },
  { word: "graph", buttons: ".player-graph [data-mode]", named: "data-mode", on: "aria-pressed", usual: "picture" },
  { word: "tab", buttons: ".tabs [data-tab]", named: "data-tab", on: "aria-selected", usual: "changed" },
];
const OPENER = ".timeline-opener";

/** The open view as the end of a hash: `&lens=bytes&look=b&index=1,2`; empty while all is as at first. */
export function viewOf(root: HTMLElement, player: Player): string {
  const words: [string, string][] = [];
  for (const { word, buttons, named, on, usual } of CHOICES) {
    const chosen = root.querySelector(`${buttons}[${on}="true"]`)?.getAttribute(named) ?? null;
    if (chosen !== null && chosen !== usual) words.push([word, chosen]);
  }
  if (root.querySelector(OPENER)?.getAttribute("aria-expanded") === "true") words.push(["memory", "open"]);
  const { tensor, index } = player.focused;
  const name = tensor === null ? undefined : player.state?.tensors.get(tensor)?.names[0];
  if (name !== undefined) words.push(["look", name]);
  if (name !== undefined && index !== null) words.push(["index", index.join(",")]);
  // In an address for people a bracket and a comma may stand as they are.
  return words.map(([word, value]) => `&${word}=${encodeURIComponent(value).replaceAll("%2C", ",").replaceAll("%5B", "[").replaceAll("%5D", "]")}`).join("");
}

/** Opens what a hash says is open; what it does not speak of stays. */
export function showView(hash: string, root: HTMLElement, player: Player): void {
  const parts = new URLSearchParams(hash.replace(/^#/, "").replaceAll("+", "%2B"));
  for (const { word, buttons, named, on } of CHOICES) {
    const wanted = parts.get(word);
    const button = [...root.querySelectorAll<HTMLElement>(buttons)].find((each) => wanted !== null && each.getAttribute(named) === wanted);
    if (button !== undefined && button.getAttribute(on) !== "true") button.click();
  }
  const opener = root.querySelector<HTMLElement>(OPENER);
  if (parts.get("memory") === "open" && opener?.getAttribute("aria-expanded") === "false") opener.click();
  const name = parts.get("look");
  const tensor = name === null ? undefined : [...(player.state?.tensors.values() ?? [])].find(({ names }) => names.includes(name));
  if (tensor === undefined) return;
  const index = indexOf(parts.get("index"), tensor.view.shape);
  pick(root, { tensor: tensor.id, storage: tensor.storage, index });
}

/** An index that is inside of a shape; null for any other. */
function indexOf(text: string | null, shape: readonly number[] | null): readonly number[] | null {
  if (text === null || shape === null || !/^(\d{1,9}(,\d{1,9})*)?$/.test(text)) return null;
  const index = text === "" ? [] : text.split(",").map(Number);
  return index.length === shape.length && index.every((at, d) => at < (shape[d] ?? 0)) ? index : null;
}
