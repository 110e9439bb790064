/**
 * A backward pass node by node, inside the step that ran it: a bar in the graph's panel, `[` and `]`.
 *
 * The bar is there at every step of a trace that has a backward pass, so that it moves nothing. Boxes and
 * edges are marked by `data-turn`; the leaves' `.grad` fills when its turn comes.
 */
import { turnsOf, type Gradient, type Turn } from "../layout/backward";
import { elementsNow, elementsOf, gradientText, listText } from "../layout/gradients";
import type { State } from "../model/state";
import type { Extra, Feature, Stage } from "../stage";
import type { AutogradView, EdgePicture } from "../views/autograd";
import { tuple } from "../views/badge";
import { el, set, write } from "../views/dom";
import { signIcon } from "../views/icons";
import { goTo, pick } from "../views/view";
import { EdgeLabels, gradientsAlong } from "./edge-labels";
import { graphAmong } from "./parts";

/** Executions of a line whose gradients are read (`app/tracing/contents.py`). */
const READ = 3;
/** Milliseconds that each node has while the pass plays. */
const EACH = 1_000;

export const BACKWARD: Feature = (stage, views) => {
  const graph = graphAmong(views);
  const frame = stage.root.querySelector<HTMLElement>(".graph-frame");
  const passes = stage.trace.steps.flatMap(({ events, fold }, i) => (fold === null && events.some(({ kind }) => kind === "ran") ? [i + 1] : []));
  return graph === undefined || frame === null || passes.length === 0 ? null : new BackwardBar(stage, graph, frame, passes);
};

class BackwardBar implements Extra {
  private readonly say = (id: string, args?: Record<string, unknown>): string => this.stage.messages.text(id, args);
  readonly keys = [["[ ]", "turns"]] as const;
  private readonly previous: HTMLButtonElement;
  private readonly next: HTMLButtonElement;
  private readonly play = el("button", { type: "button", class: "control turn-play" });
  private playing: ReturnType<typeof setInterval> | null = null;
  private readonly labels: EdgeLabels;
  private readonly position = el("span", { class: "turn-position" });
  private readonly words = el("p", { class: "turn-words", role: "status" });
  private readonly bar: HTMLElement;
  private readonly ends: readonly number[];
  private state: State | null = null;
  private turns: readonly Turn[] = [];
  /** 0: before the first. */
  private at = 0;

  constructor(
    private readonly stage: Stage,
    private readonly graph: AutogradView,
    frame: HTMLElement,
    /** Steps with a backward pass. */
    private readonly passes: readonly number[],
  ) {
    this.previous = this.button("previous", -1);
    this.next = this.button("next", 1);
    this.labels = new EdgeLabels(graph, this.say);
    this.play.addEventListener("click", () => (this.playing === null ? this.start() : this.stop()));
    const controls = el("div", { class: "turn-controls" }, this.previous, this.position, this.next, this.play);
    this.bar = el("div", { class: "turns", role: "group", "aria-label": this.say("ui.backward.title") }, controls, this.words);
    frame.after(this.bar);
    frame.closest(".graph")?.classList.add("with-turns");
    frame.closest(".player-figures")?.classList.add("with-turns");
    let count = 0;
    this.ends = stage.trace.steps.map(({ events }) => (count += events.length));
  }

  show(state: State): void {
    if (state.step !== this.state?.step) {
      this.stop();
      this.at = 0;
      this.turns = this.read(state);
    }
    this.state = state;
    this.mark();
    this.write(state);
  }

  key(key: string): boolean {
    if (key !== "[" && key !== "]") return false;
    this.stop();
    if (this.turns.length > 0) this.go(key === "]" ? 1 : -1);
    return true;
  }

  private button(which: "previous" | "next", by: number): HTMLButtonElement {
    const label = this.say(`ui.backward.${which}`);
    const button = el("button", { type: "button", class: "control", title: label, "aria-label": label });
    button.append(signIcon(which));
    button.addEventListener("click", () => {
      this.stop();
      this.go(by);
    });
    return button;
  }

  /** Goes through the pass by itself, from the beginning once it is at the end. */
  private start(): void {
    if (this.turns.length === 0) return;
    if (this.at === this.turns.length) this.at = 0;
    this.playing = setInterval(() => {
      if (!this.bar.isConnected || this.at >= this.turns.length) this.stop();
      else this.go(1);
    }, EACH);
    this.go(1);
    this.writePlay();
  }

  private stop(): void {
    if (this.playing !== null) clearInterval(this.playing);
    this.playing = null;
    this.writePlay();
  }

  private writePlay(): void {
    const label = this.say(this.playing === null ? "ui.backward.play" : "ui.backward.pause");
    if (this.play.title === label) return;
    this.play.replaceChildren(signIcon(this.playing === null ? "play" : "pause"));
    this.play.title = label;
    this.play.setAttribute("aria-label", label);
  }

  private go(by: number): void {
    this.at = Math.max(0, Math.min(this.turns.length, this.at + by));
    const turn = this.turns[this.at - 1];
    const box = turn === undefined ? undefined : this.graph.boxes.find(({ drawing }) => this.graph.members(drawing.node).includes(turn.node));
    // Shows every view again: the leaves get back the words that `mark` may have put in their place.
    pick(this.bar, {});
    if (box !== undefined && this.graph.viewport?.hides(box.drawing) === true) this.graph.viewport.reveal(box.drawing);
  }

  private read(state: State): readonly Turn[] {
    const { trace } = this.stage;
    const step = trace.steps[state.step - 1];
    if (step === undefined || step.fold !== null) return [];
    const events = trace.steps.slice(step.began, state.step).flatMap((each) => each.events);
    const own = events.slice(events.length - ((this.ends[state.step - 1] ?? 0) - step.first_event));
    if (!own.some(({ kind }) => kind === "ran")) return [];
    const nodes = new Map([...this.graph.facts].map(([id, { event }]) => [id, event] as const));
    const turns = turnsOf(trace, own, nodes, (tensor) => state.tensors.get(tensor)?.gradFn ?? null);
    // A line of the program's own backward or hook is within a pass, and shows none of it by itself.
    return turns.some(({ received }) => received.length > 0) ? turns : [];
  }

  /** Marks boxes and edges: whose turn it is, who had theirs, who waits. */
  private mark(): void {
    const { at, turns, graph } = this;
    const when = new Map<number, string>();
    const along = new Map<string, string>();
    turns.forEach((turn, i) => {
      const now = i === at - 1 ? "now" : i < at - 1 ? "done" : "waiting";
      if (at === 0) return;
      if (when.get(turn.node) !== "now") when.set(turn.node, now);
      for (const [source, target] of turn.along) {
        const edge = `${source} ${target}`;
        if (now !== "waiting" && along.get(edge) !== "now") along.set(edge, now);
      }
    });
    for (const box of graph.boxes) {
      const whens = graph.members(box.drawing.node).flatMap((node) => when.get(node) ?? []);
      mark(box.root, whens.includes("now") ? "now" : whens.includes("waiting") ? "waiting" : whens[0]);
    }
    const sent = gradientsAlong(turns);
    const ways = new Map<number, { target: number; now: string; gradient: Gradient | undefined }[]>();
    for (const [edge, now] of along) {
      const [source = 0, target = 0] = edge.split(" ").map(Number);
      const way = { target, now, gradient: sent.get(source)?.findLast(([to]) => to === target)?.[1] };
      ways.set(source, [...(ways.get(source) ?? []), way]);
    }
    const lit = new Map<EdgePicture, { now: string; gradient: Gradient }>();
    for (const edge of graph.edges) {
      const { drawing, path, head } = edge;
      const targets = new Set(at === 0 ? [] : graph.members(drawing.target));
      const here = at === 0 ? [] : graph.members(drawing.source).flatMap((source) => (ways.get(source) ?? []).filter(({ target }) => targets.has(target)));
      const way = here.find(({ now }) => now === "now") ?? here.at(-1);
      mark(path, way?.now);
      mark(head, way?.now);
      if (way?.gradient !== undefined) lit.set(edge, { now: way.now, gradient: way.gradient });
    }
    this.labels.show(turns, lit);
    if (at > 0) this.unfill(turns.slice(at));
  }

  /** Leaves whose `.grad` is not there yet, though it is at the end of the step. */
  private unfill(waiting: readonly Turn[]): void {
    const empty = new Set(waiting.flatMap(({ node, filled }) => (filled?.how === "taken" ? [node] : [])));
    for (const box of this.graph.boxes) {
      const variable = this.graph.facts.get(box.drawing.node)?.event.variable ?? null;
      const leaf = empty.has(box.drawing.node) && variable !== null ? this.state?.tensors.get(variable) : undefined;
      const subtitle = box.root.querySelector(".node-subtitle");
      if (leaf !== undefined && subtitle !== null) subtitle.textContent = this.say("ui.graph.leaf", { shape: tuple(leaf.view.shape), grad: "None" });
    }
  }

  private write(state: State): void {
    const { at, turns } = this;
    const turn = turns[at - 1];
    this.bar.classList.toggle("without", turns.length === 0);
    write(this.position, turns.length === 0 ? "–" : this.say("ui.backward.of", { n: at, all: turns.length }));
    set(this.previous, "aria-disabled", String(at === 0));
    set(this.next, "aria-disabled", String(at === turns.length));
    set(this.play, "aria-disabled", String(turns.length === 0));
    if (turns.length === 0) {
      this.words.replaceChildren(this.wayTo(state));
      return;
    }
    if (turn === undefined) {
      const passes = new Set(turns.map(({ pass }) => pass)).size;
      this.words.replaceChildren(el("span", {}, this.say("ui.backward.begin", { n: turns.length, passes })), ...this.unread(state, turns));
      return;
    }
    const parts = [el("b", {}, this.title(turn.node))];
    const add = (id: string, args: Record<string, unknown>): void => void parts.push(el("span", {}, this.say(id, args)));
    for (const gradient of turn.received) {
      if (gradient.parts.length > 0) add("ui.backward.sum", { what: gradientText(gradient, this.say), parts: gradient.parts.map((part) => this.fromText(part)) });
      else add("ui.backward.gets", { what: gradientText(gradient, this.say), from: gradient.from === null ? "none" : this.title(gradient.from) });
    }
    if (turn.silent) add("ui.backward.silent", {});
    if (turn.filled !== null) add(`ui.backward.${turn.filled.how}`, this.fillArgs(turn, state));
    for (const { gradient, to } of turn.sent) add("ui.backward.sends", { what: gradientText(gradient, this.say), to: this.title(to) });
    this.words.replaceChildren(...parts, ...this.unread(state, [turn]));
  }

  /** Why values are missing, and the way to a pass of the line that has them. */
  private unread(state: State, turns: readonly Turn[]): HTMLElement[] {
    const missing = turns.some(({ received, sent }) => [...received, ...sent.map(({ gradient }) => gradient)].some((gradient) => !isRead(gradient)));
    if (!missing) return [];
    const { outline, trace } = this.stage;
    const step = outline.steps[state.step - 1];
    if (step === undefined || step.pass <= READ) return [el("span", { class: "mute" }, this.say("ui.backward.unread"))];
    const said = el("span", { class: "mute" }, this.say("ui.backward.unreadPass", { n: step.pass }));
    const there = this.passes.findLast((number) => number < state.step && outline.steps[number - 1]?.statement === step.statement && trace.steps[number - 1]?.events.some(({ kind }) => kind === "gradient") === true);
    if (there === undefined) return [said];
    const button = el("button", { type: "button", class: "link" }, this.say("ui.backward.read", { step: there }));
    button.addEventListener("click", () => goTo(button, there));
    return [said, button];
  }

  /** From a step without a backward pass: where the next one is, or the last. */
  private wayTo(state: State): HTMLElement {
    const step = this.passes.find((each) => each > state.step) ?? this.passes.at(-1) ?? 0;
    const button = el("button", { type: "button", class: "link" }, this.say("ui.backward.where", { step }));
    button.addEventListener("click", () => goTo(button, step));
    return button;
  }

  private fillArgs({ node, filled, received }: Turn, state: State): Record<string, unknown> {
    const name = this.graph.facts.get(node)?.leafName ?? this.say("ui.memory.unnamed");
    const before = filled?.before == null ? null : elementsOf(state, filled.before);
    const [got] = received;
    return {
      name: `${name}.grad`,
      now: filled === null ? "" : this.filledText(filled.grad, state),
      before: before === null ? "…" : listText(before),
      got: got === undefined ? "…" : gradientText(got, this.say),
    };
  }

  /** What a leaf has in `.grad`: read as the pass ran, else as it is after the step. */
  private filledText(grad: Gradient, state: State): string {
    const now = isRead(grad) ? null : elementsNow(state, grad.tensor);
    return now === null ? gradientText(grad, this.say) : listText(now, grad.shape?.length === 0);
  }

  private fromText(part: Gradient): string {
    const what = gradientText(part, this.say);
    return part.from === null ? what : this.say("ui.backward.from", { what, from: this.title(part.from) });
  }

  private title(node: number): string {
    const facts = this.graph.facts.get(node);
    return facts?.leafName ?? facts?.name ?? "?";
  }
}

const isRead = ({ values, norm }: Gradient): boolean => norm !== null || (values !== null && values !== undefined);

function mark(element: Element, now: string | undefined): void {
  if (now === undefined) element.removeAttribute("data-turn");
  else element.setAttribute("data-turn", now);
}
