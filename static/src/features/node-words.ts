/**
 * What is said of a node of the graph: its line, where its gradients go, what it keeps, its rule, its hooks.
 *
 * Loaded when a node is first opened (`details.ts`). What it says of derivatives is PyTorch's own table
 * (tools/autograd/derivatives.yaml); a test holds every formula against autograd.
 */
import { listText } from "../layout/gradients";
import { cellsOf, numel, strided } from "../layout/storage";
import { itemSize, readValue } from "../layout/values";
import type { SavedNow, State } from "../model/state";
import type { Stage } from "../stage";
import type { AutogradView } from "../views/autograd";
import { storageBadge, tuple } from "../views/badge";
import { el, type Child } from "../views/dom";
import { currentVersion, nameOfSaved } from "../views/node";
import { goTo, pick } from "../views/view";
import rules from "./derivatives.json";

const RULES = rules as unknown as Readonly<Record<string, readonly [string, Readonly<Record<string, string>>]>>;
const MOST_READ = 1024;

/** A hook of a node's tensor, and the step that registered it. */
export interface Hook {
  readonly kind: string;
  readonly step: number;
}

export class NodeWords {
  private readonly say = (id: string, args?: Record<string, unknown>): string => this.stage.messages.text(id, args);

  constructor(
    private readonly stage: Stage,
    private readonly graph: AutogradView,
    /** The reader goes on to another node. */
    private readonly follow: (node: number) => void,
  ) {}

  /** All that is said of a node at a step. */
  parts(id: number, state: State, hooks: readonly Hook[]): HTMLElement[] {
    const facts = this.graph.facts.get(id);
    if (facts === undefined) return [];
    const { say } = this;
    const now = state.nodes.get(id) ?? null;
    const parts: Child[] = [];
    const line = facts.line === null ? null : el("button", { type: "button", class: "link" }, this.say("ui.graph.line", { line: facts.line }));
    line?.addEventListener("click", () => goTo(line, facts.step));
    const future = state.step < facts.step;
    const where = future ? "ui.graph.toCome" : now === null ? "ui.graph.gone" : null;
    parts.push(el("p", {}, line, where === null ? null : ` ${this.say(where)}`));
    parts.push(...this.rule(facts.name, facts.leaf, facts.leafName));
    parts.push(el("h4", {}, "next_functions"), this.next(facts.event.next_functions));
    if (facts.event.saved.length > 0) {
      const saved = now?.saved ?? facts.event.saved.map((slot) => ({ ...slot, stale: false, freed: false, scalar: null, origin: null }));
      parts.push(el("h4", {}, this.say("ui.node.saved")), el("ul", { class: "node-saved" }, ...saved.map((slot) => this.saved(slot, state, now !== null))));
    }
    if (hooks.length > 0) {
      const rows = hooks.map(({ kind, step }) => {
        const button = el("button", { type: "button", class: "link" }, this.say("ui.node.step", { step }));
        button.addEventListener("click", () => goTo(button, step));
        return el("li", {}, el("code", {}, kind), " ", button);
      });
      parts.push(el("h4", {}, say("ui.node.hooks")), el("ul", {}, ...rows));
    }
    return parts.filter((part) => part instanceof HTMLElement);
  }

  /** How it passes a gradient on. */
  private rule(name: string, leaf: boolean, leafName: string | null): Child[] {
    const heading = el("h4", {}, this.say("ui.node.rule"));
    if (leaf) return [heading, el("p", {}, this.say("ui.rule.leaf", { name: leafName ?? this.say("ui.memory.unnamed") }))];
    const base = /^(.+?)Backward\d*$/.exec(name)?.[1] ?? name;
    if (name === "CopySlices") return [heading, el("p", {}, this.say("ui.rule.copyslices"))];
    const rule = RULES[base.replace(/^Unsafe|^Reshape(Alias)?$/, (found) => (found.startsWith("Reshape") ? "Reshape" : found))];
    if (rule === undefined) return [heading, el("p", {}, this.say(/Backward$/.test(name) ? "ui.rule.custom" : "ui.rule.unknown"))];
    const [kind, formulas] = rule;
    const rows = Object.entries(formulas).flatMap(([field, formula]) => [el("dt", {}, el("code", {}, field)), el("dd", {}, el("code", {}, formula))]);
    return [heading, el("p", {}, this.say(`ui.rule.${kind}`)), rows.length === 0 ? null : el("dl", { class: "node-rule" }, ...rows)];
  }

  private next(edges: readonly (readonly [number | null, number])[]): Element {
    if (edges.length === 0) return el("p", { class: "mute" }, this.say("ui.node.noNext"));
    const items = edges.map(([id]) => {
      const facts = id === null ? undefined : this.graph.facts.get(id);
      if (id === null || facts === undefined) return el("li", {}, el("code", {}, "None"), " ", el("span", { class: "mute" }, this.say("ui.node.none")));
      const button = el("button", { type: "button", class: "link" }, el("code", {}, facts.name), facts.leafName === null ? null : ` ${facts.leafName}`);
      button.addEventListener("click", () => {
        pick(button, { node: id });
        this.follow(id);
      });
      return el("li", {}, button);
    });
    return el("ol", { class: "node-next" }, ...items);
  }

  private saved(slot: SavedNow, state: State, alive: boolean): HTMLElement {
    const badge = slot.storage === null ? null : storageBadge(slot.storage, this.graph.colours.get(slot.storage) ?? 0);
    const name = nameOfSaved(state, slot, this.stage.messages.text);
    const tensor = slot.tensor === null ? undefined : state.tensors.get(slot.tensor);
    const shape = tensor === undefined ? "" : `${tuple(tensor.view.shape)} ${tensor.view.dtype.replace("torch.", "")}`;
    const version = currentVersion(state, slot);
    let words = slot.version === null ? "" : this.say("ui.node.versions", { saved: slot.version, now: version ?? "?" });
    if (slot.stale) words = this.say("ui.node.stale", { saved: slot.version, now: version ?? "?" });
    if (slot.freed) words = this.say("ui.graph.freedWords");
    const values = alive && !slot.freed ? this.values(slot, state) : null;
    const attributes = { class: slot.stale ? "stale" : slot.freed ? "freed" : "", "data-storage": slot.storage };
    const head = el("span", {}, el("code", {}, slot.field), " ", badge, " ", name === null ? null : el("b", {}, name), ` ${shape}`);
    return el("li", attributes, head, words === "" ? null : el("span", { class: "mute" }, words), values === null ? null : el("code", { class: "node-values" }, values));
  }

  private values(slot: SavedNow, state: State): string | null {
    const tensor = slot.tensor === null ? undefined : state.tensors.get(slot.tensor);
    const bytes = slot.storage === null ? null : (state.storages.get(slot.storage)?.bytes ?? null);
    const window = tensor === undefined ? null : strided(tensor.view);
    const size = tensor === undefined ? null : itemSize(tensor.view.dtype);
    if (tensor === undefined || bytes === null || window === null || size === null || numel(window.shape) > MOST_READ) return null;
    const cells = cellsOf(window).slice(0, 7);
    return listText(cells.map((cell) => readValue(bytes, cell * size, tensor.view)), window.shape.length === 0);
  }
}
