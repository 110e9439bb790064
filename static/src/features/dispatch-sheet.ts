/**
 * The way of one op, from the line of Python to the kernel: the call, the op it decomposes from, the dispatch keys
 * in the order in which they are asked, what came of it.
 *
 * Each stop says whether it was observed or looked up in PyTorch's tables.
 */
import { together } from "../model/messages";
import { pieceOf } from "../model/outline";
import type { OpNow, State } from "../model/state";
import type { DispatchRoute, DispatchStop } from "../schema/trace.gen";
import type { Stage } from "../stage";
import { el, type Child } from "../views/dom";
import { openSheet } from "../views/sheet";
import type { Say } from "../views/view";

type Known = "observed" | "looked-up";

/** Keys that many ops have, each with its own words; others are told by their kernel alone. */
const KEYS: readonly (readonly [RegExp, string])[] = [
  [/^Autograd/, "autograd"],
  [/^ADInplaceOrView$/, "ad"],
  [/^BackendSelect$/, "select"],
  [/^Autocast/, "autocast"],
  [/^(Conjugate|Negative|ZeroTensor)$/, "lazy"],
  [/^(FuncTorch|Batched|Vmap)/, "functorch"],
  [/^(Sparse|Mkldnn|Nested|Quantized)/, "layout"],
  [/^(CPU|CUDA|Meta|MPS|XPU|PrivateUse1)$/, "backend"],
];

/** Opens the sheet. */
export function openWay(stage: Stage, state: State, op: OpNow): void {
  const say = stage.messages.text;
  const route = op.route === null ? undefined : (stage.trace.routes ?? [])[op.route];
  if (route === undefined) return;
  const stops = [...called(stage, op), ...around(route, say), ...through(op, route, state, say), result(op, state, say)];
  const notes = [say("ui.dispatch.note")];
  if (!route.thread_seen) notes.push(say("ui.dispatch.thread-unseen"));
  if (stage.trace.environment.simulated) notes.push(say("ui.dispatch.simulated"));
  const list = el("ol", { class: "way" }, ...stops);
  const sheet = openSheet(stage.messages, say("ui.dispatch.title", { op: op.op }), false, list, ...notes.map((note) => el("p", { class: "small mute way-note" }, note)));
  sheet.classList.add("sheet-way");
}

/** The line of Python, or the node of a backward pass. */
function called(stage: Stage, op: OpNow): HTMLElement[] {
  const say = stage.messages.text;
  const { range } = op;
  const line = range === null ? "" : (stage.outline.lines[range.line - 1] ?? "");
  const text = range === null ? null : el("code", {}, pieceOf(line, range.column, range.end_line === range.line ? range.end_column : Infinity));
  if (op.node !== null) return [stop("start", say("ui.dispatch.node", { name: op.node }), text, "observed", say)];
  const unheard = say(range === null ? "ui.dispatch.no-api" : "ui.dispatch.unheard");
  const words = op.api === null ? unheard : say("ui.dispatch.api", { name: op.api });
  return [stop("start", words, text, "observed", say)];
}

/** The op of the call's own name, when PyTorch makes others of it. */
function around(route: DispatchRoute, say: Say): HTMLElement[] {
  if (route.composite === null) return [];
  const keys = route.outer.filter(({ kernel }) => kernel !== "fallthrough").map((each) => key(each, say));
  const words = el("span", {}, el("code", {}, route.composite), ` ${say("ui.dispatch.composite")}`);
  return [stop("decomposes", words, keys.length === 0 ? null : el("ul", { class: "way-keys" }, ...keys), "looked-up", say)];
}

/** The keys of the op itself. */
function through(op: OpNow, route: DispatchRoute, state: State, say: Say): HTMLElement[] {
  const recorded = op.outputs.map((id) => state.tensors.get(id)?.gradFn).find((node) => node !== undefined && node !== null);
  const node = recorded === undefined || recorded === null ? undefined : state.nodes.get(recorded)?.name;
  const keys = route.stops.map((each) => {
    const made = each.kernel === "autograd" && op.node === null && node !== undefined ? say("ui.dispatch.records", { name: node }) : null;
    return key(each, say, made);
  });
  return [stop("dispatch", el("span", {}, el("code", {}, op.op), ` ${say("ui.dispatch.keys")}`), el("ol", { class: "way-keys" }, ...keys), "looked-up", say)];
}

function key({ key: name, kernel }: DispatchStop, say: Say, made: string | null = null): HTMLElement {
  const sort = KEYS.find(([pattern]) => pattern.test(name))?.[1] ?? "other";
  const passes = kernel === "fallthrough" || kernel === "none";
  return el(
    "li",
    { class: passes ? "way-key passes" : "way-key" },
    el("code", {}, name),
    el("span", { class: "way-kernel" }, say(`ui.dispatch.kernel.${kernel}`)),
    passes || sort === "other" ? null : el("span", { class: "way-means" }, say(`ui.dispatch.key.${sort}`)),
    made === null ? null : el("span", { class: "way-made" }, made),
  );
}

/** What came of it. */
function result(op: OpNow, state: State, say: Say): HTMLElement {
  const verdicts = [...new Set(op.failed ? ["failed"] : op.verdicts)];
  const outputs = op.outputs.flatMap((id) => {
    const tensor = state.tensors.get(id);
    if (tensor === undefined) return [];
    const { shape, dtype } = tensor.view;
    return [`${tensor.names[0] ?? say("ui.dispatch.unnamed")} (${(shape ?? []).join(", ")}) ${dtype.replace("torch.", "")}`];
  });
  const chips = verdicts.map((verdict) => el("span", { class: `verdict verdict-${verdict}` }, say(`ui.verdict.${verdict}`)));
  const words = el("span", { class: "way-result" }, ...chips, outputs.join(" · "));
  const explained = verdicts.map((verdict) => say(`ui.dispatch.verdict.${verdict}`)).filter((text) => text !== "");
  return stop("end", words, explained.length === 0 ? null : el("p", { class: "small mute" }, together(explained)), "observed", say);
}

function stop(kind: string, title: Child, content: Child, known: Known, say: Say): HTMLElement {
  const badge = el("span", { class: `way-known way-${known}` }, say(`ui.dispatch.${known}`));
  return el("li", { class: `way-stop way-${kind}` }, el("div", { class: "way-head" }, typeof title === "string" ? el("span", {}, title) : title, badge), content);
}
