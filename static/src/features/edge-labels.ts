/**
 * Gradients written beside the lines they came along: shape and value, or norm, where there is room.
 *
 * The bar says the same in words, so a screen reader does not read these. Places are found once per picture and
 * pass; a label appears when its line lights up, and stays.
 */
import type { Gradient, Turn } from "../layout/backward";
import { placeLabels } from "../layout/edge-labels";
import { listText } from "../layout/gradients";
import type { AutogradView, EdgePicture } from "../views/autograd";
import { tuple } from "../views/badge";
import { el } from "../views/dom";
import type { Say } from "../views/view";

const CHARACTER = 6.7;
const LINE = 14;
const LONGEST = 17;

interface Text {
  readonly shape: string;
  readonly value: string;
}

export class EdgeLabels {
  private readonly root = el("div", { class: "edge-labels", "aria-hidden": "true" });
  private places = new Map<EdgePicture, readonly [number, number] | null>();
  private labels = new Map<EdgePicture, HTMLElement>();
  private edges: readonly EdgePicture[] = [];
  private turns: readonly Turn[] = [];

  constructor(
    private readonly graph: AutogradView,
    private readonly say: Say,
  ) {}

  /** Shows what came along these lines, which are lit. */
  show(turns: readonly Turn[], lit: ReadonlyMap<EdgePicture, { readonly now: string; readonly gradient: Gradient }>): void {
    if (lit.size === 0) {
      this.root.replaceChildren();
      this.labels.clear();
      return;
    }
    if (this.edges !== this.graph.edges || this.turns !== turns) this.place(turns);
    const picture = this.graph.viewport?.root.querySelector(".viewport-picture");
    if (this.root.parentElement !== picture) picture?.append(this.root);
    for (const [edge, label] of this.labels) {
      if (lit.has(edge)) continue;
      label.remove();
      this.labels.delete(edge);
    }
    for (const [edge, { now, gradient }] of lit) {
      const place = this.places.get(edge);
      if (place == null) continue;
      const label = this.labels.get(edge) ?? this.label(edge, place);
      const { shape, value } = this.textOf(gradient);
      label.replaceChildren(el("span", {}, shape), el("b", {}, value));
      label.setAttribute("data-turn", now);
    }
  }

  private label(edge: EdgePicture, [x, y]: readonly [number, number]): HTMLElement {
    const label = el("div", { class: "edge-label" });
    label.style.setProperty("left", `${x}px`);
    label.style.setProperty("top", `${y}px`);
    this.labels.set(edge, label);
    this.root.append(label);
    return label;
  }

  /** A place for the longest text that each line will have in the step. */
  private place(turns: readonly Turn[]): void {
    const { graph } = this;
    this.edges = graph.edges;
    this.turns = turns;
    this.root.replaceChildren();
    this.labels.clear();
    const along = gradientsAlong(turns);
    const wanted = graph.edges.flatMap((edge) => {
      const texts = this.linksOf(edge, along).map((gradient) => this.textOf(gradient));
      if (texts.length === 0) return [];
      const long = Math.max(...texts.flatMap(({ shape, value }) => [shape.length, value.length]));
      const high = texts.some(({ value }) => value !== "") ? 2 : 1;
      return [{ edge, points: edge.drawing.points, width: Math.ceil(long * CHARACTER) + 8, height: high * LINE + 2 }];
    });
    const heads = [...(graph.viewport?.root.querySelectorAll<HTMLElement>(".fold-head") ?? [])].map((head) => ({
      x: head.offsetLeft, y: head.offsetTop, width: head.firstElementChild?.clientWidth ?? 0, height: head.offsetHeight,
    }));
    const places = placeLabels(wanted, [...graph.boxes.map(({ drawing }) => drawing), ...heads], graph.edges.map(({ drawing }) => drawing.points));
    this.places = new Map(wanted.map(({ edge }, i) => [edge, places[i] ?? null]));
  }

  private linksOf({ drawing }: EdgePicture, along: ReadonlyMap<number, readonly (readonly [number, Gradient])[]>): Gradient[] {
    const targets = new Set(this.graph.members(drawing.target));
    return this.graph.members(drawing.source).flatMap((source) => (along.get(source) ?? []).flatMap(([to, gradient]) => (targets.has(to) ? [gradient] : [])));
  }

  private textOf({ shape, values, norm }: Gradient): Text {
    const form = shape === null ? "?" : tuple(shape);
    const flat = values === null || values === undefined ? null : Array.isArray(values) ? values.flat(Infinity) : [values];
    if (flat !== null && (shape?.length ?? 0) <= 1) {
      const whole = listText(flat, shape?.length === 0);
      for (let n = flat.length; n >= 1; n -= 1) {
        const text = n === flat.length ? whole : `${listText(flat.slice(0, n)).replace(/(, …)?\]$/, "")}, …]`;
        if (text.length <= LONGEST || n === 1) return { shape: form, value: text };
      }
    }
    return { shape: form, value: norm === null ? "" : this.say("ui.backward.normShort", { norm: listText([norm], true) }) };
  }
}

/** What each node sent, and where to. */
export function gradientsAlong(turns: readonly Turn[]): ReadonlyMap<number, readonly (readonly [number, Gradient])[]> {
  const found = new Map<number, (readonly [number, Gradient])[]>();
  for (const { node, sent } of turns) {
    const known = found.get(node) ?? [];
    for (const { gradient, to } of sent) known.push([to, gradient]);
    found.set(node, known);
  }
  return found;
}
