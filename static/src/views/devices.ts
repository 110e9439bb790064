/** Devices: what each holds, and every copy between them. With the CPU alone it is one line. */
import { lanesOf, storageColours, transfersUntil, type Lane } from "../layout/devices";
import { livesOf, type Lives, type TransferLife } from "../layout/lives";
import type { Focus, State } from "../model/state";
import type { Trace } from "../schema/trace.gen";
import { storageBadge } from "./badge";
import { endsOf, sourceOf } from "./copies";
import { el } from "./dom";
import { goTo, pick, type Say, type View } from "./view";

const MOST_COPIES = 100;
const MOST_BADGES = 24;

export class DevicesView implements View {
  private lives: Lives | null = null;
  private lanes: readonly Lane[] = [];
  private colours: ReadonlyMap<number, number> = new Map();
  private simulated = false;
  private peak = 1;
  private say: Say = String;
  private readonly body = el("div", { class: "devices-body" });
  private readonly total = el("span", { class: "small mute" });

  mount(root: HTMLElement, trace: Trace, say: Say): void {
    this.say = say;
    this.lives = livesOf(trace);
    this.lanes = lanesOf(this.lives);
    this.colours = storageColours(this.lives);
    this.simulated = trace.environment.simulated;
    this.peak = Math.max(1, ...trace.steps.flatMap((step) => Object.values(step.peak_bytes)));
    root.classList.add("devices");
    root.parentElement?.classList.add("with-devices");
    root.classList.toggle("one-device", this.lanes.length === 1);
    root.replaceChildren(el("header", {}, el("h2", {}, say("ui.devices.title")), this.total), this.body);
  }

  show(state: State, focus: Focus): void {
    const { say, lives } = this;
    if (lives === null) return;
    if (this.lanes.length === 1) {
      const bytes = { n: state.alive.get("cpu") ?? 0, peak: state.peak.get("cpu") ?? 0 };
      this.total.textContent = "";
      this.body.replaceChildren(el("p", { class: "only" }, say("ui.devices.onlyCpu"), " ", el("span", { class: "mute" }, say("ui.devices.inUse", bytes))));
      return;
    }
    const copies = transfersUntil(lives, state.step);
    const bytes = copies.reduce((sum, copy) => sum + copy.nbytes, 0);
    this.total.textContent = copies.length === 0 ? "" : say("ui.devices.total", { n: bytes, times: copies.length });
    const lanes = el("div", { class: "device-lanes" }, ...this.lanes.map((lane) => this.lane(lane.device, state, focus)));
    // What had the keyboard has it again in the new list.
    const active = this.body.ownerDocument.activeElement;
    const focused = active instanceof HTMLElement && this.body.contains(active) ? active.dataset["storage"] : undefined;
    this.body.replaceChildren(lanes, this.copies(copies, state));
    if (focused !== undefined) this.body.querySelector<HTMLElement>(`[data-storage="${focused}"]`)?.focus();
  }

  private lane(device: string, state: State, focus: Focus): HTMLElement {
    const { say } = this;
    const storages = [...state.storages.values()].filter((storage) => storage.device === device && !storage.freed);
    const alive = state.alive.get(device) ?? 0;
    const badges = storages.slice(0, MOST_BADGES).map((storage) => {
      const badge = storageBadge(storage.id, this.colours.get(storage.id) ?? 0);
      const name = storage.tensors.flatMap((id) => state.tensors.get(id)?.names[0] ?? [])[0];
      const button = el("button", { type: "button", class: "device-storage", "data-storage": storage.id, "aria-pressed": String(focus.storage === storage.id) }, badge, name ?? "");
      button.addEventListener("click", () => pick(button, { storage: storage.id, tensor: null, index: null }));
      return button;
    });
    const more = storages.length > MOST_BADGES ? el("span", { class: "mute" }, say("ui.memory.more", { n: storages.length - MOST_BADGES })) : null;
    const bar = el("span", { class: "device-bar", "aria-hidden": "true" }, el("i", {}));
    bar.style.setProperty("--share", String(Math.min(1, alive / this.peak)));
    return el(
      "section",
      { class: "device-lane", "aria-label": device },
      el("h3", {}, device, this.pill(device)),
      el("p", { class: "device-use" }, bar, device === "meta" ? say("ui.memory.metaLane") : say("ui.devices.inUse", { n: alive, peak: state.peak.get(device) ?? 0 })),
      el("div", { class: "device-storages" }, ...badges, more),
    );
  }

  private pill(device: string): HTMLElement | null {
    if (!this.simulated || device === "cpu" || device === "meta") return null;
    return el("span", { class: "pill simulated", title: this.say("ui.devices.note") }, this.say("ui.simulated"));
  }

  private copies(copies: readonly TransferLife[], state: State): HTMLElement {
    const { say } = this;
    const section = el("section", { class: "copies" }, el("h3", {}, say("ui.devices.copies")));
    if (copies.length === 0) section.append(el("p", { class: "mute" }, this.copyToCome(state.step)));
    const list = el("ol", {});
    for (const copy of copies.slice(0, MOST_COPIES)) list.append(this.copy(copy, copy.step === state.step));
    section.append(list);
    return section;
  }

  private copyToCome(step: number): string {
    const next = this.lives?.transfers.find((transfer) => transfer.step > step);
    if (next === undefined || next.line === null) return this.say("ui.devices.noneWill");
    return this.say("ui.devices.willCopy", { line: next.line, name: sourceOf(next), n: next.nbytes, from: next.from, to: next.to });
  }

  private copy(copy: TransferLife, now: boolean): HTMLElement {
    const { say } = this;
    const line = el("button", { type: "button", class: "copy-line" }, say("ui.devices.line", { line: copy.line ?? "–" }));
    line.addEventListener("click", () => goTo(line, copy.step));
    return el(
      "li",
      { class: now ? "copy now" : "copy", "aria-current": now ? "step" : null },
      el("code", {}, endsOf(copy, say)),
      el("span", { class: "copy-way" }, say("ui.devices.fromTo", { from: copy.from, to: copy.to })),
      el("span", { class: "copy-bytes" }, say("ui.memory.bytes", { n: copy.nbytes })),
      line,
    );
  }
}
