/**
 * What a node of the graph is: its line, where its gradients go, what it keeps, how it passes a gradient on.
 *
 * A panel beside the picture, from a click on a node until the reader closes it: stepping does not, so that
 * nothing moves. Its words are in `node-words.ts`, loaded with the first click.
 */
import type { NodeNow, State } from "../model/state";
import type { Extra, Feature, Stage } from "../stage";
import type { AutogradView } from "../views/autograd";
import { el } from "../views/dom";
import type { Hook, NodeWords } from "./node-words";
import { graphAmong } from "./parts";

const HOOKS = /^(register_hook|register_post_accumulate_grad_hook|retain_grad)$/;

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
  private readonly hooks = new Map<number, Hook[]>();
  private words: NodeWords | null = null;
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
    for (const box of this.hooks.size === 0 ? [] : this.graph.boxes) {
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
    if (this.words === null) void this.load();
    this.panel.parentElement?.classList.add("with-details");
    if (this.state !== null) this.write(node, this.state);
    const box = this.graph.boxes.find(({ drawing }) => drawing.node === node);
    // Once the picture's window has got narrower.
    requestAnimationFrame(() => {
      if (box !== undefined && this.graph.viewport?.hides(box.drawing) === true) this.graph.viewport.reveal(box.drawing);
    });
  }

  private async load(): Promise<void> {
    const { NodeWords: Words } = await import("./node-words");
    this.words ??= new Words(this.stage, this.graph, (node) => {
      this.open(node);
      this.panel.focus();
    });
    if (this.state !== null && this.node !== null) this.write(this.node, this.state);
  }

  private close(): void {
    this.node = null;
    this.panel.hidden = true;
    this.panel.parentElement?.classList.remove("with-details");
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

  private hooksOf(node: NodeNow, state: State): readonly Hook[] {
    if (this.hooks.size === 0) return [];
    const found = [];
    for (const [tensor, hooks] of this.hooks) {
      const now = state.tensors.get(tensor);
      const its = node.variable === tensor || (now !== undefined && now.gradFn === node.id);
      if (its) found.push(...hooks.filter(({ kind, step }) => step <= state.step && !(kind === "retain_grad" && node.variable !== null)));
    }
    return found;
  }

  private write(id: number, state: State): void {
    const facts = this.graph.facts.get(id);
    if (facts === undefined) return;
    const now = state.nodes.get(id);
    this.panel.setAttribute("aria-label", this.say("ui.node.about", { name: facts.leafName ?? facts.name }));
    this.heading.replaceChildren(el("code", {}, facts.name));
    this.body.replaceChildren(...(this.words?.parts(id, state, now === undefined ? [] : this.hooksOf(now, state)) ?? []));
  }
}
