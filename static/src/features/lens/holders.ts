/**
 * Who keeps what: the storages of each device, by who holds them, and what was freed by which line.
 *
 * A storage held by several stands where the strongest of them is told: names of the program before
 * gradients, those before a node of the graph. What was freed a few steps ago is told no more.
 */
import type { State, StorageNow } from "../../model/state";
import { UNNAMED_HOLDERS } from "../../model/state";
import type { Trace } from "../../schema/trace.gen";
import { storageColours } from "../../layout/devices";
import { livesOf, type StorageLife } from "../../layout/lives";
import { storageBadge } from "../../views/badge";
import { el } from "../../views/dom";
import { freedText, originText, unnamedHolder } from "../../views/readout";
import { pick, type Say } from "../../views/view";
import type { Lens, Scene } from "./scene";

/** In the order they are told; the first that a storage has is where it stands. */
export const KINDS = ["named", "optimizer", "gradient", "saved", "unreachable", "unknown"] as const;
export type HolderKind = (typeof KINDS)[number];

const FREED_STEPS = 4;
const MOST_HOLDERS = 10;
const OF_OPTIMIZERS = /\.state\[|\bstate\[.*\]\[|exp_avg|momentum_buffer|\.param_groups/u;

/** What kind of holder an expression is. */
export function kindOf(holder: string): HolderKind {
  if (holder === UNNAMED_HOLDERS["cycle"]) return "unreachable";
  if (holder === UNNAMED_HOLDERS["unknown"]) return "unknown";
  if (holder.includes("#")) return "saved";
  if (OF_OPTIMIZERS.test(holder)) return "optimizer";
  return holder.endsWith(".grad") ? "gradient" : "named";
}

export class HoldersLens implements Lens {
  readonly root = el("div", { class: "lens-holders" });
  private readonly lives: ReadonlyMap<number, StorageLife>;
  private readonly colours: ReadonlyMap<number, number>;
  private shown = "";

  constructor(
    private readonly say: Say,
    trace: Trace,
  ) {
    const lives = livesOf(trace);
    this.lives = new Map(lives.storages.map((storage) => [storage.id, storage]));
    this.colours = storageColours(lives);
  }

  show({ state, looking }: Scene): void {
    const key = `${state.step} ${looking.storage ?? ""}`;
    if (key === this.shown) return;
    this.shown = key;
    const active = this.root.ownerDocument.activeElement;
    const focused = active instanceof HTMLElement && this.root.contains(active) ? active.dataset["storage"] : undefined;
    const devices = [...new Set([...state.storages.values()].filter((storage) => this.tells(storage, state)).map(({ device }) => device))];
    if (devices.length === 0) this.root.replaceChildren(el("p", { class: "lens-note" }, this.say("ui.memory.nothing")));
    else this.root.replaceChildren(...devices.map((device) => this.device(device, state, looking.storage)));
    if (focused !== undefined) this.root.querySelector<HTMLElement>(`[data-storage="${focused}"]`)?.focus();
  }

  private tells(storage: StorageNow, { step }: State): boolean {
    const life = this.lives.get(storage.id);
    if (life === undefined) return false;
    return storage.freed ? life.gone > life.born && step - life.gone < FREED_STEPS : true;
  }

  private device(device: string, state: State, chosen: number | null): HTMLElement {
    const here = [...state.storages.values()].filter((storage) => storage.device === device && this.tells(storage, state));
    const alive = here.filter((storage) => !storage.freed);
    const groups = new Map<HolderKind, StorageNow[]>();
    for (const storage of alive) {
      const kinds = storage.heldBy.map(kindOf);
      const kind = KINDS.find((each) => kinds.includes(each)) ?? "unknown";
      groups.set(kind, [...(groups.get(kind) ?? []), storage]);
    }
    const sections = KINDS.flatMap((kind) => {
      const storages = groups.get(kind);
      return storages === undefined ? [] : [this.group(`ui.lens.held.${kind}`, kind, storages, state, chosen)];
    });
    const freed = here.filter((storage) => storage.freed);
    if (freed.length > 0) sections.push(this.group("ui.lens.held.freed", "freed", freed, state, chosen));
    const bytes = state.alive.get(device);
    const total = bytes === undefined || device === "meta" ? "" : this.say("ui.memory.alive", { n: bytes });
    return el("section", { class: "held-device", "aria-label": device }, el("h3", {}, device, el("span", { class: "mute" }, total)), ...sections);
  }

  private group(title: string, kind: string, storages: readonly StorageNow[], state: State, chosen: number | null): HTMLElement {
    const bytes = storages.reduce((n, storage) => n + storage.nbytes, 0);
    const sum = this.say("ui.lens.held.sum", { storages: storages.length, n: bytes });
    return el("div", { class: `held-group held-${kind}` }, el("h4", {}, this.say(title), el("span", { class: "mute" }, sum)), el("ul", {}, ...storages.map((storage) => this.storage(storage, state, chosen))));
  }

  private storage(storage: StorageNow, state: State, chosen: number | null): HTMLElement {
    const { say } = this;
    const button = el("button", { type: "button", class: "held-storage", "data-storage": storage.id, "aria-pressed": String(chosen === storage.id) }, storageBadge(storage.id, this.colours.get(storage.id) ?? 0), el("span", {}, say("ui.memory.bytes", { n: storage.nbytes })));
    button.addEventListener("click", () => pick(this.root, { storage: storage.id, tensor: null, index: null }));
    const line = this.lives.get(storage.id)?.line ?? null;
    const made = originText(storage.origin, say) ?? (line === null ? null : say("ui.memory.line", { line }));
    if (storage.freed) {
      const age = state.step - (this.lives.get(storage.id)?.gone ?? state.step);
      return el("li", { class: `held-gone held-gone-${Math.max(0, age)}` }, button, el("span", { class: "mute" }, freedText(say, storage, false)));
    }
    const unnamed = unnamedHolder(storage.heldBy[0]);
    const holders =
      unnamed !== null
        ? [el("span", { class: "mute" }, say(unnamed))]
        : storage.heldBy.slice(0, MOST_HOLDERS).map((holder) => el("code", { class: `holder holder-${kindOf(holder)}`, title: say(`ui.lens.held.${kindOf(holder)}`) }, holder));
    if (unnamed === null && storage.heldBy.length > MOST_HOLDERS) holders.push(el("span", { class: "mute" }, say("ui.memory.more", { n: storage.heldBy.length - MOST_HOLDERS })));
    return el("li", {}, button, el("span", { class: "held-by" }, ...holders), made === null ? null : el("span", { class: "held-made mute", title: made }, made));
  }
}
