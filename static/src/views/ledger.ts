/**
 * Where the memory is at a step: what each kind of holder keeps, every storage alive with who holds it,
 * and the copies between devices so far. It stands beside the open timeline.
 */
import { HOLDER_KINDS, kindsAt, type DeviceHoldings, type HolderKind } from "../layout/holdings";
import type { Copy, Traffic } from "../layout/transfers";
import { formatBytes } from "../model/messages";
import type { Focus, State, StorageNow } from "../model/state";
import { storageBadge } from "./badge";
import { allocatorPicture } from "./allocator";
import { copyText } from "./courses";
import { sourceOf } from "./copies";
import { el, svg } from "./dom";
import { unnamedHolder } from "./readout";
import { goTo, pick, type Say } from "./view";

const MOST_ROWS = 40;
const MOST_COPIES = 30;
const MOST_HOLDERS = 3;

export class Ledger {
  readonly root = el("section", { class: "ledger", tabindex: -1 });
  private readonly sums = el("div", { class: "ledger-sums" });
  private readonly rest = el("div", { class: "ledger-rest" });
  private step = 0;
  private shown: number | null = null;

  constructor(
    private readonly holdings: readonly DeviceHoldings[],
    private readonly traffic: Traffic,
    private readonly fro: ReadonlySet<number>,
    private readonly colours: ReadonlyMap<number, number>,
    private readonly fill: (kind: HolderKind) => string,
    private readonly simulated: boolean,
    private readonly say: Say,
  ) {
    this.root.setAttribute("aria-label", say("ui.ledger.title"));
    this.root.append(this.sums, this.rest);
  }

  /** `life`: the life of the storage that is followed, in words; empty when none is. */
  show(state: State, focus: Focus, life: string): void {
    this.step = state.step;
    this.preview(null);
    const alive = [...state.storages.values()].filter((storage) => !storage.freed && storage.nbytes > 0 && storage.device !== "meta");
    alive.sort((a, b) => b.nbytes - a.nbytes || a.id - b.id);
    const kindOf = kindsAt(state);
    const rows = alive.slice(0, MOST_ROWS).map((storage) => this.row(storage, kindOf(storage), focus));
    const more = alive.length - rows.length;
    // What had the keyboard has it again in the new list.
    const active = document.activeElement;
    const focused = active instanceof HTMLElement && this.rest.contains(active) ? active.dataset["storage"] : undefined;
    this.rest.replaceChildren(
      ...(life === "" ? [] : [el("p", { class: "ledger-life" }, life)]),
      el("h3", {}, this.say("ui.ledger.alive", { n: alive.length })),
      alive.length === 0 ? el("p", { class: "mute" }, this.say("ui.ledger.nothing")) : el("ul", { class: "ledger-rows" }, ...rows),
      ...(more > 0 ? [el("p", { class: "mute" }, this.say("ui.memory.more", { n: more }))] : []),
      ...this.copies(state),
      ...this.allocators(state),
    );
    if (focused !== undefined) this.rest.querySelector<HTMLElement>(`[data-storage="${focused}"]`)?.focus({ preventScroll: true });
  }

  /** The sums of another step, while the reader points at it; null for the step that is shown. */
  preview(step: number | null): void {
    const at = step ?? this.step;
    if (at === this.shown) return;
    this.shown = at;
    const { holdings, say } = this;
    const head = el("tr", {}, el("th", { scope: "col" }, say("ui.step.number", { step: at })), ...holdings.map(({ device }) => el("th", { scope: "col" }, this.device(device))));
    const kinds = HOLDER_KINDS.map((kind) => {
      const swatch = svg("svg", { class: "held-swatch", viewBox: "0 0 18 12", "aria-hidden": "true" }, svg("rect", { width: 18, height: 12, rx: 2, fill: this.fill(kind) }));
      const cells = holdings.map(({ kinds: courses }) => el("td", {}, amount(courses[kind][at])));
      return el("tr", { title: say(`ui.held.${kind}Means`) }, el("th", { scope: "row" }, swatch, say(`ui.held.${kind}`)), ...cells);
    });
    const total = (id: string, of: (each: DeviceHoldings) => number | undefined, sign: string): HTMLElement => {
      const swatch = svg("svg", { class: `held-swatch ${sign}`, viewBox: "0 0 18 12", "aria-hidden": "true" }, svg("path", { d: "M1 11V4H17V11" }));
      return el("tr", { class: id }, el("th", { scope: "row" }, swatch, say(`ui.ledger.${id}`)), ...holdings.map((each) => el("td", {}, amount(of(each)))));
    };
    this.sums.replaceChildren(
      el(
        "table",
        {},
        el("thead", {}, head),
        el("tbody", {}, ...kinds, total("total", ({ total: all }) => all[at], "held-total"), total("within", ({ within, total: all }) => (within[at] ?? 0) - (all[at] ?? 0), "held-more")),
      ),
    );
    this.sums.classList.toggle("elsewhere", step !== null && step !== this.step);
  }

  private device(device: string): HTMLElement {
    const pretends = this.simulated && device !== "cpu" && device !== "meta";
    return el("span", {}, device, pretends ? el("span", { class: "pill simulated", title: this.say("ui.devices.note") }, this.say("ui.simulated")) : null);
  }

  private row(storage: StorageNow, kind: HolderKind, focus: Focus): HTMLElement {
    const { say } = this;
    const several = this.holdings.length > 1;
    const button = el(
      "button",
      { type: "button", "data-storage": storage.id, "aria-pressed": String(focus.storage === storage.id) },
      storageBadge(storage.id, this.colours.get(storage.id) ?? 0),
      el("span", { class: "ledger-held" }, this.holders(storage)),
      el("span", { class: "ledger-kind" }, [several ? storage.device : "", say(`ui.held.${kind}`)].filter(Boolean).join(" · ")),
      el("span", { class: "ledger-bytes" }, formatBytes(storage.nbytes)),
    );
    button.addEventListener("click", () => pick(button, { storage: storage.id, tensor: null, index: null }));
    return el("li", {}, button);
  }

  private holders({ heldBy }: StorageNow): string {
    const { say } = this;
    const unnamed = unnamedHolder(heldBy[0]);
    if (heldBy.length === 0 || unnamed !== null) return say(unnamed ?? "ui.memory.heldByNobody");
    const shown = heldBy.slice(0, MOST_HOLDERS).join(", ");
    return heldBy.length > MOST_HOLDERS ? `${shown}, …` : shown;
  }

  /** Copies so far, the latest first: what both ends are now, and who still holds the source. */
  private copies(state: State): HTMLElement[] {
    if (this.holdings.length < 2) return [];
    const { say } = this;
    const copies = this.traffic.copies.filter(({ step }) => step <= state.step).reverse();
    if (copies.length === 0) return [el("h3", {}, say("ui.devices.copies")), el("p", { class: "mute" }, this.toCome(state.step))];
    const items = copies.slice(0, MOST_COPIES).map((copy) => {
      const line = el("button", { type: "button", class: "copy-line" }, say("ui.devices.line", { line: copy.line ?? "–" }));
      line.addEventListener("click", () => goTo(line, copy.step));
      const marks = [
        copy.line !== null && this.fro.has(copy.line) ? el("span", { class: "pill pill-fro" }, say("ui.devices.fro")) : null,
      ];
      return el("li", { "aria-current": copy.step === state.step ? "step" : null }, el("p", {}, copyText(copy, say), ...marks, line), el("p", { class: "mute" }, this.residence(copy, state)));
    });
    return [el("h3", {}, say("ui.devices.copies")), el("ol", { class: "ledger-copies" }, ...items)];
  }

  private toCome(step: number): string {
    const next = this.traffic.copies.find((transfer) => transfer.step > step);
    if (next === undefined || next.line === null) return this.say("ui.devices.noneWill");
    return this.say("ui.devices.willCopy", { line: next.line, name: sourceOf(next), n: next.nbytes, from: next.from, to: next.to });
  }

  /** Whether the bytes are in two places now: a copy lets its source live as long as something holds it. */
  private residence(copy: Copy, state: State): string {
    const { say } = this;
    const ends = [copy.sourceStorage, copy.targetStorage].map((id) => (id === null ? undefined : state.storages.get(id)));
    const [source, target] = ends.map((storage) => (storage === undefined || storage.freed ? null : storage));
    if (source != null && target != null) return say("ui.ledger.twice", { source: `S${source.id}`, target: `S${target.id}`, holders: this.holders(source), n: source.nbytes + target.nbytes });
    if (source != null) return say("ui.ledger.sourceOnly", { source: `S${source.id}`, holders: this.holders(source) });
    if (target != null) return say("ui.ledger.targetOnly", { target: `S${target.id}`, from: copy.from });
    return say("ui.ledger.neither");
  }

  private allocators(state: State): HTMLElement[] {
    return [...this.traffic.allocators.values()].flatMap((course) => {
      const at = course.findLastIndex(({ step }) => step <= state.step);
      const now = course[at];
      return now === undefined ? [] : [allocatorPicture(now, course[at - 1], now.step === state.step, this.say)];
    });
  }
}

function amount(bytes: number | undefined): string {
  return bytes === undefined || bytes === 0 ? "–" : formatBytes(bytes);
}
