/**
 * One box of the autograd graph: a node, or a leaf with its AccumulateGrad, and its saved tensors.
 *
 * Its size is decided in Python (`app/drawing/boxes.py`): 9 px, title 20, subtitle 18, chips of 24 with
 * 6 above each, 9 px. The same box is there from the first step, dashed until the node is made.
 */
import type { NodeFacts } from "../layout/graph";
import type { Focus, NodeNow, SavedNow, State } from "../model/state";
import type { NodeDrawing } from "../schema/trace.gen";
import { storageBadge, tuple } from "./badge";
import { el } from "./dom";
import { originShort, originText } from "./readout";
import { pick, type Say } from "./view";

export class NodeBox {
  readonly root: HTMLElement;
  private readonly title = el("button", { type: "button", class: "node-title" });
  private readonly subtitle = el("p", { class: "node-subtitle" });
  private readonly chips = el("div", { class: "node-chips" });
  private key = "";

  constructor(
    readonly drawing: NodeDrawing,
    private readonly facts: NodeFacts,
    private readonly colours: ReadonlyMap<number, number>,
    private readonly say: Say,
  ) {
    this.root = el("div", { class: facts.leaf ? "node leaf" : "node" }, this.title, this.subtitle, this.chips);
    const { style } = this.root;
    style.setProperty("left", `${drawing.x}px`);
    style.setProperty("top", `${drawing.y}px`);
    style.setProperty("width", `${drawing.width}px`);
    style.setProperty("height", `${drawing.height}px`);
    this.title.append(facts.leafName ?? facts.name);
    if (facts.plain !== null) this.root.title = say("ui.graph.plain", { observed: facts.name, plain: facts.plain });
    this.root.addEventListener("click", (event) => {
      if (event.target instanceof Element && event.target.closest(".chip") !== null) return;
      pick(this.root, { node: facts.id });
    });
  }

  get leaf(): boolean {
    return this.facts.leaf;
  }

  /** `here`: the node exists after this step; `now` is null when nothing leads to it. */
  show(state: State, focus: Focus, now: NodeNow | null, flowing: boolean): void {
    const here = state.step >= this.drawing.step;
    const stale = now?.saved.some((slot) => slot.stale) ?? false;
    const chosen = focus.node === this.facts.id;
    const made = focus.tensor !== null && state.tensors.get(focus.tensor)?.gradFn === this.facts.id;
    const classes = ["node", this.facts.leaf ? "leaf" : "", here ? (now === null ? "gone" : "") : "future", stale ? "stale" : ""];
    const className = [...classes, chosen ? "chosen" : "", made ? "made" : "", flowing ? "flowing" : ""].filter((part) => part !== "").join(" ");
    if (this.root.className !== className) this.root.className = className;
    const subtitle = this.subtitleText(state, now, here);
    if (this.subtitle.textContent !== subtitle) this.subtitle.textContent = subtitle;
    if (this.title.getAttribute("aria-pressed") !== String(chosen)) this.title.setAttribute("aria-pressed", String(chosen));
    const label = describe(this.facts, now, state, this.say);
    if (this.title.getAttribute("aria-label") !== label) this.title.setAttribute("aria-label", label);
    const saved = now?.saved ?? this.toCome();
    const alive = here && now !== null;
    const key = JSON.stringify([saved.map((slot) => [slot, currentVersion(state, slot), nameOfSaved(state, slot, this.say)]), alive]);
    if (key !== this.key) this.chips.replaceChildren(...saved.map((slot) => this.chip(state, slot, alive)));
    this.key = key;
    saved.forEach((slot, i) => {
      const tied = alive && slot.storage !== null && slot.storage === focus.storage;
      this.chips.children[i]?.classList.toggle("tied", tied);
    });
  }

  private subtitleText(state: State, now: NodeNow | null, here: boolean): string {
    const { say, facts } = this;
    if (facts.about !== undefined) return facts.about;
    if (facts.leaf) {
      const leaf = facts.event.variable === null ? undefined : state.tensors.get(facts.event.variable);
      if (leaf === undefined) return facts.name;
      const grad = leaf.grad === null ? null : (state.tensors.get(leaf.grad)?.storage ?? null);
      return say("ui.graph.leaf", { shape: tuple(leaf.view.shape), grad: grad === null ? "None" : `S${grad}` });
    }
    if (facts.plain !== null) return `≠ ${facts.plain}`;
    const line = facts.line === null ? "" : say("ui.graph.line", { line: facts.line });
    if (here && now === null) return facts.line === null ? say("ui.graph.goneShort") : `${line} · ${say("ui.graph.goneShort")}`;
    if (!here || now === null) return line;
    const name = [...state.tensors.values()].find((tensor) => tensor.gradFn === facts.id && tensor.names.length > 0)?.names[0];
    return name === undefined ? line : say("ui.graph.madeBy", { line: facts.line ?? "–", name });
  }

  /** What the node will save, before it does. */
  private toCome(): SavedNow[] {
    return this.facts.event.saved.map((slot) => ({ ...slot, stale: false, freed: false, scalar: null, origin: null }));
  }

  private chip(state: State, slot: SavedNow, alive: boolean): HTMLElement {
    const { say } = this;
    const name = nameOfSaved(state, slot, say);
    const badge = slot.storage === null ? null : storageBadge(slot.storage, this.colours.get(slot.storage) ?? 0);
    const parts = [el("span", { class: "chip-field" }, slot.field), badge];
    const short = name ?? (slot.freed ? null : originShort(slot.origin));
    if (short !== null && alive) parts.push(el("b", {}, short));
    parts.push(el("span", { class: "chip-state" }, alive ? this.stateText(state, slot) : ""));
    const className = `chip${slot.stale ? " chip-stale" : ""}${slot.freed ? " chip-freed" : ""}`;
    const label = savedWords(state, slot, say);
    const chip = el("button", { type: "button", class: className, title: label, "data-storage": slot.storage, disabled: !alive || slot.storage === null }, ...parts);
    chip.addEventListener("click", () => pick(chip, { storage: slot.storage, tensor: null, index: null, node: this.facts.id }));
    return chip;
  }

  private stateText(state: State, slot: SavedNow): string {
    const { say } = this;
    if (slot.freed) return say("ui.graph.freed");
    const now = currentVersion(state, slot);
    if (slot.stale) return now === null ? say("ui.graph.changedUnknown", { saved: slot.version }) : say("ui.graph.changed", { saved: slot.version, now });
    return slot.version === null ? "" : say("ui.graph.version", { version: slot.version });
  }
}

/** A node in a sentence: where it was made, where its gradients go, what it keeps. The list and the labels say it. */
export function describe(facts: NodeFacts, now: NodeNow | null, state: State, say: Say): string {
  const name = facts.leafName ?? facts.name;
  const parts = [facts.plain === null ? name : say("ui.graph.plain", { observed: name, plain: facts.plain })];
  if (facts.about !== undefined) parts.push(facts.about);
  if (facts.leaf) {
    const leaf = facts.event.variable === null ? undefined : state.tensors.get(facts.event.variable);
    const grad = leaf?.grad == null ? null : (state.tensors.get(leaf.grad)?.storage ?? null);
    parts.push(say("ui.graph.leaf", { shape: tuple(leaf?.view.shape ?? null), grad: grad === null ? "None" : `S${grad}` }));
    parts.push(say("ui.graph.writes", { name: facts.leafName ?? say("ui.memory.unnamed") }));
  } else if (facts.line !== null) parts.push(say("ui.graph.line", { line: facts.line }));
  if (state.step < facts.step) parts.push(say("ui.graph.toCome"));
  else if (now === null) parts.push(say("ui.graph.gone"));
  for (const slot of now?.saved ?? []) parts.push(savedWords(state, slot, say));
  return parts.join(say("list.pause"));
}

function savedWords(state: State, slot: SavedNow, say: Say): string {
  const now = currentVersion(state, slot);
  let words = slot.version === null ? say("ui.graph.keptWords") : say("ui.graph.intactWords", { version: slot.version });
  if (slot.stale) words = now === null ? say("ui.graph.staleUnknown", { saved: slot.version }) : say("ui.graph.staleWords", { saved: slot.version, now });
  if (slot.freed) words = say("ui.graph.freedWords");
  const storage = slot.storage === null ? "–" : `S${slot.storage}`;
  return say("ui.graph.saved", { field: slot.field, what: nameOfSaved(state, slot, say) ?? originText(slot.origin, say) ?? say("ui.memory.unnamed"), storage, state: words });
}

/** A name for what was saved: the number it was, the tensor's own, else of one that looks at the same storage. */
export function nameOfSaved(state: State, slot: SavedNow, say: Say): string | null {
  if (slot.scalar !== null) return say("trait.scalar", { value: slot.scalar });
  const own = slot.tensor === null ? undefined : state.tensors.get(slot.tensor)?.names[0];
  if (own !== undefined) return own;
  const storage = slot.storage === null ? undefined : state.storages.get(slot.storage);
  const named = storage === undefined || storage.freed ? [] : storage.tensors.flatMap((id) => state.tensors.get(id)?.names[0] ?? []);
  return named[0] ?? null;
}

/** The version counter of what was saved, as far as a tensor that is left shows it. */
export function currentVersion(state: State, slot: SavedNow): number | null {
  const own = slot.tensor === null ? undefined : state.tensors.get(slot.tensor);
  if (own !== undefined) return own.version;
  const storage = slot.storage === null ? undefined : state.storages.get(slot.storage);
  const versions = (storage?.tensors ?? []).flatMap((id) => state.tensors.get(id)?.version ?? []);
  return versions.length === 0 ? null : Math.max(...versions);
}
