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
import { styled } from "../styles";
import { worded } from "../words-later";
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
    const large = [...memory.querySelectorAll<HTMLElement>(".place-pixels")];
    if (large.length > 0) void Promise.all([import("./lens/large"), styled("lens"), worded(stage.messages)]).then(([{ watchLarge }]) => watchLarge(memory, large, say, (near) => void this.zoom(near)));
    const before = opened.get(stage.player);
    if (before !== undefined) void this.open(before);
  }

  show(state: State, focus: Focus): void {
    this.shown = [state, focus];
    this.panel?.show(state, focus);
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
      const [{ LensPanel: Panel }] = await Promise.all([import("./lens/panel"), styled("lens"), worded(this.stage.messages)]);
      this.panel ??= new Panel(this.stage, this.memory, () => this.close());
    }
    this.panel?.open(opened.get(player) ?? null);
    this.memory.dispatchEvent(new CustomEvent<LensName | null>(LENS_EVENT, { detail: name, bubbles: true }));
    if (this.shown !== null) this.panel?.show(...this.shown);
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
