/** From a step that failed to what it has to do with: its cause, the line that raised, the call that led there. */
import type { Messages } from "../model/messages";
import { stepOfLine, type Outline } from "../model/outline";
import { raising } from "../model/told";
import type { Trace } from "../schema/trace.gen";
import { el } from "./dom";
import { goTo } from "./view";

/** Buttons; none at a step that the exception did not go through. */
export function waysFrom(step: number, trace: Trace, outline: Outline, messages: Messages): HTMLElement[] {
  const steps = raising(trace, outline);
  if (!steps.includes(step)) return [];
  const [inner, call] = steps;
  const found: HTMLElement[] = [];
  const way = (id: string, to: number | null | undefined): void => {
    const line = to == null ? undefined : outline.steps[to - 1]?.line;
    if (to == null || line === undefined || to === step) return;
    const button = el("button", { type: "button", class: "small-button" }, messages.text(id, { line }));
    button.addEventListener("click", () => goTo(button, to));
    found.push(button);
  };
  const cause = trace.explanation?.caused_by ?? null;
  if (cause !== null && cause !== trace.outcome.line) way("ui.outcome.go-cause", stepOfLine(outline, cause, inner));
  if (step === inner) way("ui.outcome.go-call", call);
  else way("ui.outcome.go-line", inner);
  return found;
}
