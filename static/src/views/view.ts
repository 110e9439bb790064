/**
 * What every view is. A view owns the DOM below its root and nothing else; it knows no other view.
 *
 * The one way up is a bubbling `pick` event: the player sets the focus and shows every view again.
 */
import type { SourceRange, Trace } from "../schema/trace.gen";
import type { Focus, State } from "../model/state";

/** Says a message of the catalogue in the reader's language. */
export type Say = (id: string, args?: Record<string, unknown>) => string;

export interface View {
  /** Builds the picture once. */
  mount(root: HTMLElement, trace: Trace, say: Say): void;
  /** Shows one state. Same state and focus, same DOM: the reader may jump in any order. */
  show(state: State, focus: Focus): void;
  /** Brings what is shown into sight, once all views have shown it: scrolling makes the browser lay out the page. */
  settle?(): void;
}

/** Detail of a `pick` event. Fields left out stay as they are. */
export type Pick = Partial<Focus>;

/** An event: the way of an op through the dispatcher is asked for. */
export const WAY_EVENT = "show-way";

/** Asks for the way of an op; `index` is its place among the ops of the step. */
export function showWay(from: EventTarget, index: number): void {
  from.dispatchEvent(new CustomEvent<number>(WAY_EVENT, { detail: index, bubbles: true }));
}

/** Tells the player what the reader points at. */
export function pick(from: EventTarget, detail: Pick): void {
  from.dispatchEvent(new CustomEvent<Pick>("pick", { detail, bubbles: true, composed: true }));
}

/** Asks the player to go to a step. */
export function goTo(from: EventTarget, step: number): void {
  from.dispatchEvent(new CustomEvent<number>("go-to-step", { detail: step, bubbles: true, composed: true }));
}

/** Asks the player to mark a piece of the program; null takes the mark away. */
export function pointAt(from: EventTarget, range: SourceRange | null): void {
  from.dispatchEvent(new CustomEvent<SourceRange | null>("point-at", { detail: range, bubbles: true }));
}
