/**
 * Called functions: the stack of the step as a trail, what is local in its frame, and ways into, over and out
 * of calls. Only programs that call functions of their own get it, and then it stays, so that nothing moves.
 */
import { functionsOf, hasCalls, stackOf, stepInto, stepOut, stepOver, type StackFrame } from "../model/calls";
import type { State } from "../model/state";
import type { Extra, Feature, Stage } from "../stage";
import { tuple } from "../views/badge";
import { el, renew, set, svg } from "../views/dom";
import { goTo, pick, type Pick } from "../views/view";

const WAYS = ["into", "over", "out"] as const;
type Way = (typeof WAYS)[number];
const FIND = { into: stepInto, over: stepOver, out: stepOut } as const;
const KEYS: Readonly<Record<string, Way>> = { i: "into", o: "over", u: "out" };
const SIGNS: Readonly<Record<Way, string>> = {
  into: "M6.2 1h1.6v5.2h2.7L7 10 3.5 6.2h2.7zM5 11.4h4V13H5z",
  over: "M1.6 9.2A5.4 5.4 0 0 1 11 5.1l1.4-1.4v4.8H7.6l2-2a3.5 3.5 0 0 0-6.1 2.7zM5 11.4h4V13H5z",
  out: "M6.2 10V4.8H3.5L7 1l3.5 3.8H7.8V10zM5 11.4h4V13H5z",
};
/** Names that are shown of a frame; a module has many. */
const MOST_LOCALS = 12;

export const CALLS: Feature = (stage) => {
  for (const old of stage.root.querySelectorAll(".calls")) old.remove();
  return hasCalls(stage.outline) ? new Calls(stage) : null;
};

class Calls implements Extra {
  readonly keys = [["i", "into"], ["o", "over"], ["u", "out"]] as const;
  private readonly functions: ReadonlyMap<number, string>;
  private readonly trail = el("ol", { class: "calls-trail" });
  private readonly locals = el("ul", { class: "calls-locals" });
  private readonly scroll: HTMLElement;
  private readonly buttons: ReadonlyMap<Way, HTMLButtonElement>;
  private step = 0;
  /** What the button of each name leads to. */
  private named: readonly Pick[] = [];

  constructor(private readonly stage: Stage) {
    const { messages, player, trace } = stage;
    this.functions = functionsOf(trace);
    this.trail.setAttribute("aria-label", messages.text("ui.calls.stack"));
    this.locals.setAttribute("aria-label", messages.text("ui.calls.locals"));
    this.buttons = new Map(WAYS.map((way) => [way, this.button(way)]));
    const ways = el("div", { class: "calls-ways", role: "group", "aria-label": messages.text("ui.calls.ways") }, ...this.buttons.values());
    this.locals.addEventListener("click", ({ target }) => {
      const row = target instanceof Element ? target.closest("button")?.parentElement : null;
      const named = row == null ? undefined : this.named[[...this.locals.children].indexOf(row)];
      if (named !== undefined) pick(this.locals, named);
    });
    this.scroll = el("div", { class: "calls-scroll" }, this.trail, this.locals);
    player.codeBody.before(el("div", { class: "calls" }, this.scroll, ways));
  }

  show(state: State): void {
    this.step = state.step;
    const stack = stackOf(this.stage.trace, this.stage.outline, state.step, this.functions);
    const frames = stack.map((frame, index) => this.frame(frame, stack[index + 1]));
    // Frames that are calling have a button each.
    if (frames.length > 1) this.trail.replaceChildren(...frames);
    else renew(this.trail, ...frames);
    renew(this.locals, ...this.local(state));
    this.locals.hidden = this.locals.children.length === 0;
    for (const [way, button] of this.buttons) set(button, "aria-disabled", String(FIND[way](this.stage.outline, state.step) === null));
  }

  /** The innermost frame is seen, whatever there is room for. */
  settle(): void {
    this.scroll.scrollLeft = Math.max(0, this.trail.offsetWidth - this.scroll.clientWidth);
  }

  key(key: string): boolean {
    const way = KEYS[key];
    if (way !== undefined) this.go(way);
    return way !== undefined;
  }

  private go(way: Way): void {
    const to = FIND[way](this.stage.outline, this.step);
    if (to !== null) goTo(this.trail, to);
  }

  private button(way: Way): HTMLButtonElement {
    const name = this.stage.messages.text(`ui.help.${way}`);
    const key = Object.keys(KEYS).find((each) => KEYS[each] === way) ?? "";
    const button = el("button", { type: "button", class: "control", "aria-label": name, "aria-keyshortcuts": key, title: `${name} (${key})` });
    button.append(svg("svg", { class: "sign", viewBox: "0 0 14 14", "aria-hidden": "true" }, svg("path", { d: SIGNS[way] })));
    button.addEventListener("click", () => this.go(way));
    return button;
  }

  /** A frame; all but the innermost lead to the line that is calling. */
  private frame(frame: StackFrame, called: StackFrame | undefined): HTMLElement {
    const { messages } = this.stage;
    const name = frame.function ?? messages.text("ui.calls.module");
    const line = frame.line === null ? null : el("span", { class: "calls-line" }, `:${frame.line}`);
    if (called === undefined || frame.step === null) {
      return el("li", {}, el("span", { class: "calls-frame", "aria-current": called === undefined ? "true" : null }, name, line));
    }
    const title = messages.text("ui.calls.go", { line: frame.line ?? 0, function: called.function ?? "" });
    const button = el("button", { type: "button", class: "calls-frame", title, "aria-label": messages.text("list.label", { label: name, text: title }) }, name, line);
    const { step } = frame;
    button.addEventListener("click", () => goTo(button, step));
    return el("li", {}, button);
  }

  /** The names of the frame that lead to tensors. */
  private local(state: State): HTMLElement[] {
    const names = [...state.locals].slice(0, MOST_LOCALS);
    this.named = names.map(([, id]) => ({ tensor: id, storage: state.tensors.get(id)?.storage ?? null, index: null }));
    return names.map(([name, id]) => {
      const shape = tuple(state.tensors.get(id)?.view.shape ?? null);
      const title = this.stage.messages.text("ui.calls.local", { name });
      return el("li", {}, el("button", { type: "button", title }, el("code", {}, name), " ", el("span", {}, shape)));
    });
  }
}
