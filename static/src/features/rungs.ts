/** Draws the rungs of a ladder (`model/ladder.ts`) with the names that a state gives their tensors. */
import { storageColours } from "../layout/devices";
import { livesOf } from "../layout/lives";
import type { Rung, RungOp, RungOutput } from "../model/ladder";
import type { State } from "../model/state";
import type { GraphNode } from "../schema/trace.gen";
import type { Stage } from "../stage";
import { storageBadge, tuple } from "../views/badge";
import { el } from "../views/dom";
import { layerIcon } from "../views/icons";
import { goTo, pointAt } from "../views/view";

/** Ops of one rung that are shown; an optimizer runs dozens for one call. */
export const MOST_OPS = 12;

/** Saved tensors that stand in one row of their own; one alone stands beside the op. */
const KEPT_PER_ROW = 3;

/** Rows that what backward keeps has for itself. */
export function keptRows({ nodes }: Rung): number {
  const saved = nodes.reduce((sum, node) => sum + node.saved.length, 0);
  return saved < 2 ? 0 : Math.ceil(saved / KEPT_PER_ROW);
}

const SAVING = "aten::detach";

type Saved = GraphNode["saved"][number];

export class Rungs {
  private colours: ReadonlyMap<number, number> | null = null;

  constructor(private readonly stage: Stage) {}

  /** The rungs of a step; `then` is the state after it. */
  list(rungs: readonly Rung[], then: State): HTMLElement {
    if (rungs.length === 0) return el("p", { class: "empty" }, this.say("ui.ops.none"));
    return el("ol", { class: "rungs" }, ...rungs.map((rung) => this.rung(rung, then)));
  }

  private say(id: string, args: Record<string, unknown> = {}): string {
    return this.stage.messages.text(id, args);
  }

  private rung(rung: Rung, then: State): HTMLElement {
    if (rung.kind === "call") return this.call(rung);
    const outputs = resultOf(rung.ops)?.outputs ?? [];
    const name = el("code", { class: "rung-text", title: rung.text }, rung.text);
    const named = ({ tensor }: RungOutput): boolean => then.tensors.get(tensor)?.names[0] !== undefined;
    const head = el("div", { class: "rung-head" }, name, ...outputs.filter((output, index) => index === 0 || named(output)).map((output) => this.output(output, then)));
    const shown = rung.ops.slice(0, MOST_OPS);
    const kept = this.keeps(rung, then);
    const apart = keptRows(rung) > 0;
    const rows = shown.map((op, index) => this.op(op, index === rung.ops.length - 1 && !apart ? kept : null));
    if (rung.ops.length > shown.length) {
      const more = el("span", { class: "rung-more" }, this.say("ui.ops.more", { count: rung.ops.length - shown.length }));
      rows.push(el("div", { class: "rung-op" }, more, apart ? null : kept));
    }
    if (apart) rows.push(this.apart(keptRows(rung), kept));
    const row = el("li", { class: `rung rung-${rung.kind}`, tabindex: -1 }, head, ...rows);
    for (const event of ["pointerenter", "focusin"]) row.addEventListener(event, () => pointAt(row, rung.range));
    for (const event of ["pointerleave", "focusout"]) row.addEventListener(event, () => pointAt(row, null));
    return row;
  }

  /** A call of the program's own function: its lines are the way to what it did. */
  private call(rung: Rung): HTMLElement {
    const { trace } = this.stage;
    const inside = trace.steps.flatMap(({ frame }, index) => (frame === rung.frame ? [index + 1] : []));
    const head = el("div", { class: "rung-head" }, el("code", { class: "rung-text" }, `${rung.text}(…)`));
    const [first] = inside;
    if (first !== undefined) {
      const button = el("button", { type: "button", class: "rung-into" }, this.say("ui.ladder.into", { count: inside.length }));
      button.addEventListener("click", () => goTo(button, first));
      head.append(button);
    }
    return el("li", { class: "rung rung-call", tabindex: -1 }, head);
  }

  /** A row of its own, as high as has been counted on. */
  private apart(rows: number, kept: HTMLElement | null): HTMLElement {
    const row = el("div", { class: "rung-kept" }, kept);
    row.style.setProperty("min-height", `${rows * 22}px`);
    return row;
  }

  private op(op: RungOp, keeps: HTMLElement | null): HTMLElement {
    const verdicts = op.verdicts.map((verdict) => el("span", { class: `verdict verdict-${verdict}` }, this.say(`ui.verdict.${verdict}`)));
    return el("div", { class: "rung-op" }, el("code", { class: "rung-name", title: op.name }, op.name), ...verdicts, keeps);
  }

  private output({ tensor, shape, dtype }: RungOutput, then: State): HTMLElement {
    const now = then.tensors.get(tensor);
    const name = now?.names[0] ?? null;
    const size = tuple(shape ?? now?.view.shape ?? null);
    const called = name === null ? el("span", { class: "mute" }, this.say("ui.ladder.unnamed")) : el("code", {}, name);
    return el("span", { class: "rung-output", title: dtype ?? now?.view.dtype ?? null }, "→ ", called, " ", el("code", { class: "mute" }, size));
  }

  /** What backward will need of a piece; null when no node was made for it. */
  private keeps({ nodes, ops }: Rung, then: State): HTMLElement | null {
    if (nodes.length === 0) return null;
    const names = nodes.map((node) => this.stage.trace.names[node.name] ?? "").join(", ");
    const saved = nodes.flatMap((node) => node.saved);
    const row = el("span", { class: "rung-keeps" }, layerIcon("autograd"));
    if (saved.length === 0) {
      row.append(el("span", {}, this.say("ui.ladder.keeps-nothing")));
      row.title = this.say("ui.ladder.keeps-nothing-title", { names });
      return row;
    }
    const words: string[] = [];
    row.append(el("span", {}, this.say("ui.ladder.keeps")));
    for (const each of saved) {
      const called = this.kept(each, ops, then);
      const word = called ?? (each.storage === null ? each.field : `S${each.storage}`);
      if (words.includes(word)) continue; // two nodes keep one tensor
      words.push(word);
      if (called !== null) row.append(" ", el("code", {}, called));
      if (each.storage !== null) row.append(" ", this.badge(each.storage));
    }
    row.title = this.say("ui.ladder.keeps-title", { names, tensors: words });
    return row;
  }

  /** The reader's word for a saved tensor: its name, the op of the piece that made it, or what it is a view of. */
  private kept({ tensor, storage }: Saved, ops: readonly RungOp[], then: State): string | null {
    const name = (id: number | null): string | undefined => (id === null ? undefined : then.tensors.get(id)?.names[0]);
    const maker = (id: number | null): RungOp | undefined => ops.findLast((op) => op.outputs.some((output) => output.tensor === id));
    // An output is saved as a detached tensor of its own.
    const detached = maker(tensor)?.name === SAVING ? maker(tensor) : undefined;
    const id = detached?.inputs[0] ?? tensor;
    const own = name(tensor) ?? name(id);
    if (own !== undefined) return own;
    const made = maker(id);
    const base = made?.verdicts.includes("view") === true ? name(made.inputs[0] ?? null) : undefined;
    if (base !== undefined) return this.say("ui.ladder.view-of", { name: base });
    if (made !== undefined) return made === resultOf(ops) && made.outputs[0]?.tensor === id ? this.say("ui.ladder.result") : `${made.name.replace(/^aten::|\..*$/g, "")}(…)`;
    const scalar = storage === null ? null : (then.storages.get(storage)?.scalar ?? null);
    if (scalar !== null) return scalar;
    const sharer = storage === null ? undefined : then.storages.get(storage)?.tensors.map(name).find((each) => each !== undefined);
    if (sharer !== undefined) return this.say("ui.ladder.view-of", { name: sharer });
    return then.tensors.get(tensor ?? -1)?.origin?.code ?? null;
  }

  private badge(storage: number): HTMLElement {
    this.colours ??= storageColours(livesOf(this.stage.trace));
    return storageBadge(storage, this.colours.get(storage) ?? 0);
  }
}

/** The op that gave a piece its value: what is saved for backward is detached after it. */
function resultOf(ops: readonly RungOp[]): RungOp | undefined {
  return ops.findLast((op) => op.name !== SAVING && op.outputs.length > 0) ?? ops.at(-1);
}
