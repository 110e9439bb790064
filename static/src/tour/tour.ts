/**
 * A minute over the real page: each stop rings something that is there and says what it is for. The page
 * stays usable throughout; a stop that asks for a deed notices when it was done.
 */
import type { Messages } from "../model/messages";
import { el } from "../views/dom";

interface Stop {
  readonly id: string;
  /** The first of these that is there and seen. */
  readonly at: readonly string[];
  /** An event that says that the reader has tried it. */
  readonly done?: string;
}

const STOPS: readonly Stop[] = [
  { id: "lamps", at: [".line.now .lamps", ".line .lamps"] },
  { id: "step", at: [".timeline-header .controls", ".controls"], done: "step-changed" },
  { id: "words", at: [".changes-panel"] },
  { id: "memory", at: [".memory .cells", ".player-memory .stage", ".player-memory"], done: "pick" },
  { id: "graph", at: [".player-graph"] },
  { id: "timeline", at: [".timeline-body"], done: "go-to-step" },
  { id: "own", at: [".edit-button"] },
];
const GAP = 12;
const EDGE = 12;
/** Below this the words stand at the foot of the page, and what they are about above them. */
const NARROW = 640;

let running: Tour | null = null;

/** Starts the tour, from its first stop; one that runs begins anew. */
export function startTour(messages: Messages, root: HTMLElement): void {
  running?.end();
  running = new Tour(messages, root);
}

class Tour {
  private readonly ring = el("div", { class: "guide-ring", "aria-hidden": "true" });
  private readonly title = el("h2", { id: "guide-title", tabindex: -1 });
  private readonly text = el("p", { id: "guide-text" });
  private readonly count = el("span", { class: "guide-count" });
  private readonly back = el("button", { type: "button", class: "button" });
  private readonly next = el("button", { type: "button", class: "button primary" });
  private readonly card: HTMLElement;
  private readonly before = document.activeElement;
  private readonly stops: readonly Stop[];
  private at = 0;
  private target: Element | null = null;
  private placing = 0;

  constructor(
    private readonly messages: Messages,
    private readonly root: HTMLElement,
  ) {
    const say = messages.text;
    this.stops = STOPS.filter((stop) => this.find(stop) !== null);
    const skip = el("button", { type: "button", class: "small-button" }, say("ui.guide.skip"));
    skip.addEventListener("click", () => this.end());
    this.back.textContent = say("ui.guide.back");
    this.back.addEventListener("click", () => this.go(this.at - 1));
    this.next.addEventListener("click", () => this.go(this.at + 1));
    const actions = el("div", { class: "guide-actions" }, skip, el("span", { class: "space" }), this.back, this.next);
    this.card = el("div", { class: "guide-card", role: "dialog", "aria-modal": "false", "aria-labelledby": "guide-title", "aria-describedby": "guide-text" }, this.count, this.title, this.text, actions);
    this.card.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.end();
    });
    document.body.append(this.ring, this.card);
    document.body.classList.add("guided");
    for (const name of ["scroll", "resize"] as const) addEventListener(name, this.place, { capture: true, passive: true });
    for (const { done } of STOPS) if (done !== undefined) document.addEventListener(done, this.tried, { capture: true });
    this.go(0);
  }

  /** Takes everything away and gives the focus back. */
  end(): void {
    for (const name of ["scroll", "resize"] as const) removeEventListener(name, this.place, { capture: true });
    for (const { done } of STOPS) if (done !== undefined) document.removeEventListener(done, this.tried, { capture: true });
    cancelAnimationFrame(this.placing);
    const focused = this.card.contains(document.activeElement);
    this.ring.remove();
    this.card.remove();
    if (running === this) running = null;
    document.body.classList.remove("guided");
    if (!focused) return;
    const to = this.before instanceof HTMLElement && this.before.isConnected && this.before !== document.body ? this.before : this.root.querySelector<HTMLElement>(".line.now .line-number");
    to?.focus({ preventScroll: true });
  }

  private go(at: number): void {
    const stop = this.stops[at];
    if (stop === undefined) {
      this.end();
      return;
    }
    this.at = at;
    const say = this.messages.text;
    this.target = this.find(stop);
    this.count.textContent = say("ui.guide.count", { at: at + 1, of: this.stops.length });
    this.title.textContent = say(`ui.guide.${stop.id}-title`);
    this.text.textContent = say(`ui.guide.${stop.id}`);
    this.card.classList.remove("tried");
    this.back.hidden = at === 0;
    this.next.textContent = say(at === this.stops.length - 1 ? "ui.guide.end" : "ui.guide.next");
    // On a page that scrolls, what is talked about comes into sight above the words.
    const seen = this.target?.getBoundingClientRect();
    if (seen !== undefined && (innerWidth < NARROW || seen.top < 0 || seen.bottom > innerHeight)) {
      this.target?.scrollIntoView({ block: innerWidth < NARROW ? "start" : "center", behavior: "instant" });
      if (innerWidth < NARROW) scrollBy({ top: -72, behavior: "instant" });
    }
    this.settle();
    this.title.focus({ preventScroll: true });
  }

  /** The reader did what the stop is about. */
  private readonly tried = (event: Event): void => {
    if (this.stops[this.at]?.done !== event.type) return;
    this.card.classList.add("tried");
    this.count.textContent = this.messages.text("ui.guide.tried");
  };

  private find({ at }: Stop): Element | null {
    for (const selector of at) {
      const found = [...this.root.querySelectorAll(selector)].find((each) => each.getClientRects().length > 0);
      if (found !== undefined) return found;
    }
    return null;
  }

  private readonly place = (): void => {
    cancelAnimationFrame(this.placing);
    this.placing = requestAnimationFrame(() => this.settle());
  };

  /** Puts the ring round the thing, and the words where they hide none of it. */
  private settle(): void {
    const stop = this.stops[this.at];
    // Stepping may have made the picture anew.
    if (this.target?.isConnected !== true && stop !== undefined) this.target = this.find(stop);
    const box = this.target === null ? null : boxOf(this.target);
    this.ring.hidden = box === null;
    if (box === null) return;
    const [top, left] = [Math.max(2, box.top - 5), Math.max(2, box.left - 5)];
    const [bottom, right] = [Math.min(innerHeight - 2, box.bottom + 5), Math.min(innerWidth - 2, box.right + 5)];
    set(this.ring, { left, top, width: right - left, height: bottom - top });
    const narrow = innerWidth < NARROW;
    this.card.classList.toggle("at-foot", narrow);
    if (narrow) {
      set(this.card, { left: null, top: null });
      return;
    }
    const { width, height } = this.card.getBoundingClientRect();
    const fits = [
      { left: right + GAP, top },
      { left: left - GAP - width, top },
      { left, top: bottom + GAP },
      { left, top: top - GAP - height },
    ].find((at) => at.left >= EDGE && at.top >= EDGE && at.left + width <= innerWidth - EDGE && at.top + height <= innerHeight - EDGE);
    const inside = (at: number, size: number, room: number): number => Math.max(EDGE, Math.min(at, room - size - EDGE));
    const chosen = fits ?? { left: inside(right - width, width, innerWidth), top: inside(top - GAP - height, height, innerHeight) };
    set(this.card, { left: chosen.left, top: chosen.top });
  }
}

/** What is seen of a thing: of a row of lamps the lamps, as words stand right beside its room. */
function boxOf(target: Element): DOMRect {
  const inner = target.classList.contains("lamps") ? [...target.children].map((each) => each.getBoundingClientRect()).filter(({ width }) => width > 0) : [];
  if (inner.length === 0) return target.getBoundingClientRect();
  const [left, top] = [Math.min(...inner.map((box) => box.left)), Math.min(...inner.map((box) => box.top))];
  return new DOMRect(left, top, Math.max(...inner.map((box) => box.right)) - left, Math.max(...inner.map((box) => box.bottom)) - top);
}

function set(element: HTMLElement, places: Readonly<Record<string, number | null>>): void {
  for (const [name, value] of Object.entries(places)) {
    if (value === null) element.style.removeProperty(name);
    else element.style.setProperty(name, `${Math.round(value)}px`);
  }
}
