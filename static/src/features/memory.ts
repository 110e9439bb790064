/**
 * A closer look at memory: one tensor in any two of its dimensions, its bytes, what other view it could be,
 * who keeps what. And where the reader points at an element, the code that made the tensors that read it.
 *
 * Adds buttons to the header of the Memory panel; a lens takes the panel's place while it is open, and is
 * loaded when first asked for. Which is open stays so from trace to trace.
 */
import { lookingAt, readingsOf } from "../layout/focus";
import type { Extra, Feature, Stage } from "../stage";
import type { Focus, State } from "../model/state";
import { el } from "../views/dom";
import { placesOf, type Places } from "./making";
import type { LensName, LensPanel } from "./lens/panel";

const LENSES: readonly (readonly [LensName, string])[] = [
  ["tensor", "v"],
  ["bytes", "b"],
  ["whatif", "w"],
  ["holders", "k"],
];

/** An event: the reader opened a lens, or closed the one that was open (null). */
export const LENS_EVENT = "lens-opened";

const opened = new WeakMap<Stage["player"], LensName>();

/** The lenses of the Memory panel. */
export const MEMORY: Feature = (stage) => {
  const memory = stage.root.querySelector<HTMLElement>(".memory");
  const header = memory?.querySelector("header");
  return memory === null || header == null ? null : new Lenses(stage, memory, header);
};

class Lenses implements Extra {
  readonly keys = [["v b w k", "lens"]] as const;
  private readonly buttons = new Map<LensName, HTMLElement>();
  private panel: LensPanel | null = null;
  private shown: readonly [State, Focus] | null = null;
  private places: Places | null = null;
  /** Places of storages drawn as dots. */
  private readonly large: readonly HTMLElement[];

  constructor(
    private readonly stage: Stage,
    private readonly memory: HTMLElement,
    header: Element,
  ) {
    const say = stage.messages.text;
    const group = el("div", { class: "segments lens-buttons", role: "group", "aria-label": say("ui.lens.label") });
    for (const [name, key] of LENSES) {
      const button = el("button", { type: "button", "data-lens": name, "aria-pressed": "false", "aria-keyshortcuts": key, title: say(`ui.lens.${name}.about`) }, say(`ui.lens.${name}`));
      button.addEventListener("click", () => void this.open(opened.get(stage.player) === name ? null : name));
      this.buttons.set(name, button);
      group.append(button);
    }
    header.querySelector(".space")?.after(group);
    this.large = [...memory.querySelectorAll<HTMLElement>(".place-pixels")];
    if (this.large.length > 0) this.listenToLarge();
    const before = opened.get(stage.player);
    if (before !== undefined) void this.open(before);
  }

  show(state: State, focus: Focus): void {
    this.shown = [state, focus];
    this.panel?.show(state, focus);
    for (const place of this.large) this.addZoom(place);
    this.pointAtCode(state, focus);
  }

  key(key: string): boolean {
    const lens = LENSES.find(([, letter]) => letter === key)?.[0];
    if (lens === undefined) return false;
    this.buttons.get(lens)?.click();
    return true;
  }

  private async open(name: LensName | null): Promise<void> {
    const { player } = this.stage;
    if (name === null) opened.delete(player);
    else opened.set(player, name);
    for (const [lens, button] of this.buttons) button.setAttribute("aria-pressed", String(lens === name));
    if (name !== null && this.panel === null) {
      const { LensPanel: Panel } = await import("./lens/panel");
      this.panel ??= new Panel(this.stage, this.memory, () => this.close());
    }
    this.panel?.open(opened.get(player) ?? null);
    this.memory.dispatchEvent(new CustomEvent<LensName | null>(LENS_EVENT, { detail: name, bubbles: true }));
    if (this.shown !== null) this.panel?.show(...this.shown);
  }

  /** A picture of dots has a button that leads to its cells. */
  private addZoom(place: HTMLElement): void {
    const frame = place.querySelector(".pixels");
    if (frame?.nextElementSibling?.classList.contains("pixel-zoom") !== false) return;
    const label = this.stage.messages.text("ui.lens.zoom");
    const button = el("button", { type: "button", class: "small-button pixel-zoom", "aria-label": label, title: label }, "⤢");
    button.addEventListener("click", () => {
      // The storage comes to be the one looked at, unless it is.
      if (!place.classList.contains("looked-at")) frame.querySelector("canvas")?.dispatchEvent(new MouseEvent("click", { bubbles: true, ...middleOf(frame) }));
      void this.zoom(false);
    });
    frame.after(button);
  }

  /** Ctrl + wheel, two fingers, + and a double click lead to the cell pointed at. */
  private listenToLarge(): void {
    const { memory } = this;
    const within = (event: Event): boolean => event.target instanceof Element && event.target.closest(".pixels") !== null;
    memory.addEventListener("wheel", (event) => {
      if (!within(event) || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      if (event.deltaY < 0) void this.zoom(true);
    }, { passive: false });
    memory.addEventListener("dblclick", (event) => within(event) && void this.zoom(true));
    memory.addEventListener("touchstart", (event) => {
      if (within(event) && event.touches.length > 1) void this.zoom(true);
    }, { passive: true });
    memory.addEventListener("keydown", (event) => {
      if (!within(event) || event.ctrlKey || event.metaKey || event.altKey || (event.key !== "+" && event.key !== "=")) return;
      event.preventDefault();
      void this.zoom(true);
    });
  }

  private async zoom(near: boolean): Promise<void> {
    await this.open("tensor");
    this.panel?.showStorage(near);
    this.memory.querySelector<HTMLElement>(".lens .field-window")?.focus();
  }

  private close(): void {
    const name = opened.get(this.stage.player);
    void this.open(null);
    if (name !== undefined) this.buttons.get(name)?.focus();
  }

  /** The pieces of the program that made the tensors that read the cell pointed at. */
  private pointAtCode(state: State, focus: Focus): void {
    if (focus.index === null || focus.tensor === null) {
      if (this.places !== null) this.stage.code.point();
      this.places = null;
      return;
    }
    const looking = lookingAt(state, focus, undefined);
    const storage = looking.storage === null ? undefined : state.storages.get(looking.storage);
    if (storage === undefined || looking.byte === null) return;
    this.places = placesOf(this.stage.trace);
    const tensors = readingsOf(state, storage, looking.byte).map(({ tensor }) => tensor.id);
    this.stage.code.point(...[...new Set([focus.tensor, ...tensors])].flatMap((id) => this.places?.get(id) ?? []));
  }
}

function middleOf(element: Element): { clientX: number; clientY: number } {
  const { left, top, width, height } = element.getBoundingClientRect();
  return { clientX: left + width / 2, clientY: top + height / 2 };
}
