/**
 * `<trace-player src="/traces/….json" step="3" focus="storage">`: a player as an element.
 *
 * What stands in it (the code, a figure of the step) stays until the trace is there, so that a page
 * without scripts, or without a network, still reads. A trace may also be inside, as
 * `<script type="application/json">`.
 */
import type { Messages } from "./model/messages";
import { pageMessages } from "./page";
import { COMPACT } from "./compact";
import { Player, type FigureName, type PlayerOptions } from "./player";
import type { Trace } from "./schema/trace.gen";
import type { Feature } from "./stage";
import { el } from "./views/dom";

const FIGURES: Readonly<Record<string, readonly FigureName[]>> = {
  code: [],
  memory: ["memory"],
  storage: ["memory"],
  graph: ["graph"],
  autograd: ["graph"],
  devices: ["memory"],
  both: ["memory", "graph"],
};

let words: Messages | null = null;
/** What a page's players have beyond the core: some at once, some when they have come. */
let atOnce: readonly Feature[] = [];
let coming: Promise<readonly Feature[]> | null = null;

export class TracePlayer extends HTMLElement {
  static readonly observedAttributes = ["src", "step"];
  /** Set once the trace is shown. */
  player: Player | null = null;
  private asked: string | null = null;

  /** The words of the page. */
  get messages(): Messages {
    return (words ??= pageMessages());
  }

  connectedCallback(): void {
    if (this.player !== null) return;
    const inside = this.querySelector(':scope > script[type="application/json"]')?.textContent;
    if (inside != null) this.load(JSON.parse(inside) as Trace);
    else if (this.hasAttribute("src")) void this.fetch(this.getAttribute("src") ?? "");
  }

  attributeChangedCallback(name: string, before: string | null, now: string | null): void {
    if (!this.isConnected || before === now || now === null) return;
    if (name === "src" && now !== this.asked) void this.fetch(now);
    if (name === "step") this.player?.place(Number(now));
  }

  /** Shows a trace; the attribute `step` says where, else its last step. */
  load(trace: Trace): void {
    this.player ??= this.make(this.messages);
    const step = this.getAttribute("step");
    this.player.load(trace, step === null ? trace.steps.length : Number(step));
    this.dispatchEvent(new CustomEvent("trace-shown", { bubbles: true }));
  }

  private make(messages: Messages): Player {
    const stage = el("div");
    this.replaceChildren(stage);
    const options: PlayerOptions = {
      arrangement: COMPACT,
      keys: "inside",
      figures: FIGURES[this.getAttribute("focus") ?? "memory"] ?? ["memory"],
      code: this.getAttribute("code") !== "0",
      controls: this.getAttribute("controls") !== "0",
      features: atOnce,
    };
    const player = new Player(stage, messages, options);
    void coming?.then((features) => player.extend(features), () => undefined);
    return player;
  }

  private async fetch(address: string): Promise<void> {
    this.asked = address;
    this.setAttribute("aria-busy", "true");
    try {
      const response = await fetch(address);
      if (!response.ok) throw new Error(String(response.status));
      const trace = (await response.json()) as Trace;
      if (this.asked === address) this.load(trace);
    } catch {
      if (this.asked === address) this.fail(address);
    } finally {
      this.removeAttribute("aria-busy");
    }
  }

  /** Says that the trace did not come, under what is there, and offers to ask again. */
  private fail(address: string): void {
    this.querySelector(":scope > .notice")?.remove();
    const again = el("button", { type: "button", class: "small-button" }, this.messages.text("ui.player.again"));
    const notice = el("p", { class: "notice", role: "alert" }, this.messages.text("ui.player.not-loaded"), " ", again);
    again.addEventListener("click", () => {
      notice.remove();
      void this.fetch(address);
    });
    this.append(notice);
  }
}

/**
 * Makes the element known to the page. A player has the first features at once; it does not wait for others,
 * nor miss them where they do not come.
 */
export function defineTracePlayer(first: readonly Feature[] = [], later: Promise<readonly Feature[]> | null = null): void {
  atOnce = first;
  coming = later;
  if (customElements.get("trace-player") === undefined) customElements.define("trace-player", TracePlayer);
}
