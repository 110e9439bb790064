/**
 * What a node of the graph is: its line, where its gradients go, what it keeps, how it passes a gradient on.
 *
 * A panel beside the picture, from a click on a node until the reader closes it: stepping does not, so that
 * nothing moves. What it says of derivatives is PyTorch's own table (tools/autograd/derivatives.yaml); a test
 * holds every formula against autograd.
 */
import { listText } from "../layout/gradients";
import { cellsOf, numel, strided } from "../layout/storage";
import { itemSize, readValue } from "../layout/values";
import type { NodeNow, SavedNow, State } from "../model/state";
import type { Extra, Feature, Stage } from "../stage";
import type { AutogradView } from "../views/autograd";
import { storageBadge, tuple } from "../views/badge";
import { el, type Child } from "../views/dom";
import { currentVersion, nameOfSaved } from "../views/node";
import { goTo, pick } from "../views/view";
import rules from "./derivatives.json";
import { graphAmong } from "./parts";

const RULES = rules as unknown as Readonly<Record<string, readonly [string, Readonly<Record<string, string>>]>>;
const HOOKS = /^(register_hook|register_post_accumulate_grad_hook|retain_grad)$/;
const MOST_READ = 1024;

export const DETAILS: Feature = (stage, views) => {
  const graph = graphAmong(views);
  const frame = stage.root.querySelector<HTMLElement>(".graph-frame");
  return graph === undefined || frame === null ? null : new Details(stage, graph, frame);
};

class Details implements Extra {
  private readonly say = (id: string, args?: Record<string, unknown>): string => this.stage.messages.text(id, args);
  private readonly panel = el("aside", { class: "node-details", hidden: true, tabindex: -1 });
  private readonly body = el("div", { class: "node-details-body" });
  private readonly heading = el("h3", {});
  /** Tensor → hooks it got, with the step. */
  private readonly hooks = new Map<number, { readonly kind: string; readonly step: number }[]>();
  private node: number | null = null;
  private opener: HTMLElement | null = null;
  private state: State | null = null;

  constructor(
    private readonly stage: Stage,
    private readonly graph: AutogradView,
    frame: HTMLElement,
  ) {
    const label = this.say("ui.node.close");
    const close = el("button", { type: "button", class: "close-button", title: label, "aria-label": label }, "×");
    close.addEventListener("click", () => this.close());
    this.panel.append(el("header", {}, this.heading, close), this.body);
    this.panel.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.close();
    });
    frame.append(this.panel);
    frame.addEventListener("click", (event) => this.clicked(event));
    this.readHooks();
  }

  show(state: State): void {
    this.state = state;
    for (const box of this.graph.boxes) {
      const node = state.nodes.get(box.drawing.node);
      box.root.toggleAttribute("data-hooked", node !== undefined && this.hooksOf(node, state).length > 0);
    }
    if (this.node !== null) this.write(this.node, state);
  }

  private clicked(event: MouseEvent): void {
    const target = event.target instanceof Element ? event.target : null;
    const root = target?.closest(".chip") == null ? target?.closest<HTMLElement>(".node") : null;
    const box = root == null ? undefined : this.graph.boxes.find((each) => each.root === root);
    if (box === undefined || root == null) return;
    this.opener = root.querySelector("button");
    this.open(box.drawing.node);
  }

  private open(node: number): void {
    this.node = node;
    this.panel.hidden = false;
    if (this.state !== null) this.write(node, this.state);
    const box = this.graph.boxes.find(({ drawing }) => drawing.node === node);
    // Once the picture's window has got narrower.
    requestAnimationFrame(() => {
      if (box !== undefined && this.graph.viewport?.hides(box.drawing) === true) this.graph.viewport.reveal(box.drawing);
    });
  }

  private close(): void {
    this.node = null;
    this.panel.hidden = true;
    this.opener?.focus();
  }

  private readHooks(): void {
    const { trace } = this.stage;
    trace.steps.forEach(({ events }, i) => {
      for (const event of events) {
        const kind = event.kind === "api" ? (trace.names[event.api] ?? "") : "";
        const tensor = event.kind === "api" ? event.inputs[0] : undefined;
        if (tensor === undefined || !HOOKS.test(kind)) continue;
        this.hooks.set(tensor, [...(this.hooks.get(tensor) ?? []), { kind, step: i + 1 }]);
      }
    });
  }

  private hooksOf(node: NodeNow, state: State): { kind: string; step: number; tensor: number }[] {
    if (this.hooks.size === 0) return [];
    const found = [];
    for (const [tensor, hooks] of this.hooks) {
      const now = state.tensors.get(tensor);
      const its = node.variable === tensor || (now !== undefined && now.gradFn === node.id);
      if (its) found.push(...hooks.filter(({ kind, step }) => step <= state.step && !(kind === "retain_grad" && node.variable !== null)).map((hook) => ({ ...hook, tensor })));
    }
    return found;
  }

  private write(id: number, state: State): void {
    const facts = this.graph.facts.get(id);
    if (facts === undefined) return;
    const { say } = this;
    const now = state.nodes.get(id) ?? null;
    this.panel.setAttribute("aria-label", this.say("ui.node.about", { name: facts.leafName ?? facts.name }));
    this.heading.replaceChildren(el("code", {}, facts.name));
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
    const hooks = now === null ? [] : this.hooksOf(now, state);
    if (hooks.length > 0) {
      const rows = hooks.map(({ kind, step }) => {
        const button = el("button", { type: "button", class: "link" }, this.say("ui.node.step", { step }));
        button.addEventListener("click", () => goTo(button, step));
        return el("li", {}, el("code", {}, kind), " ", button);
      });
      parts.push(el("h4", {}, say("ui.node.hooks")), el("ul", {}, ...rows));
    }
    this.body.replaceChildren(...parts.filter((part) => part !== null));
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
        this.open(id);
        this.panel.focus();
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
