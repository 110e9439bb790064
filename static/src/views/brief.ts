/** What the current step changed, in a small place: only the layers that it touched. */
import type { Messages } from "../model/messages";
import type { Outline } from "../model/outline";
import type { State } from "../model/state";
import type { Trace } from "../schema/trace.gen";
import { Changes } from "./changes";
import { el } from "./dom";
import type { View } from "./view";

export class BriefView implements View {
  private changes: Changes | null = null;
  private readonly body = el("div", { class: "changes-body", tabindex: 0 });

  constructor(
    private readonly outline: Outline,
    private readonly messages: Messages,
  ) {}

  mount(root: HTMLElement, trace: Trace): void {
    this.changes = new Changes(trace, this.outline, this.messages, true);
    root.replaceChildren(this.body, this.changes.live);
  }

  show(state: State): void {
    if (this.changes === null) return;
    this.body.scrollTop = 0;
    this.body.replaceChildren(this.changes.list(state.step));
    this.changes.speak(state.step);
  }
}
