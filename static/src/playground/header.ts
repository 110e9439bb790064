/** The playground's part of the page's header: how it goes, the examples, the device, compare, share, run. */
import type { Messages } from "../model/messages";
import type { DeviceChoice } from "../model/program";
import type { Trace } from "../schema/trace.gen";
import { el } from "../views/dom";
import { DeviceMenu } from "./device-menu";
import type { Example, Limits } from "./given";
import type { Going } from "./runs";

/** Between facts that are told in one line; a line of the header breaks only there. */
const SEPARATOR = " · ";

export interface HeaderHooks {
  run(): void;
  cancel(): void;
  choose(example: Example): void;
  device(device: DeviceChoice): void;
  compare(): void;
  share(): void;
}

export class Header {
  private readonly status = el("span", { class: "run-status", role: "status" });
  private readonly run = el("button", { type: "button", class: "button primary run-button" });
  private readonly cancel = el("button", { type: "button", class: "button", hidden: true });
  private readonly offline = el("span", { class: "offline-badge", role: "status" });
  private readonly menu = el("select", { class: "example-menu" });
  private readonly devices: DeviceMenu;

  constructor(
    private readonly messages: Messages,
    examples: readonly Example[],
    limits: Limits,
    hooks: HeaderHooks,
  ) {
    const say = messages.text;
    this.run.append(el("span", {}, say("ui.run.run")), el("kbd", {}, "Ctrl ↵"));
    this.run.addEventListener("click", () => hooks.run());
    if (!limits.run) {
      this.run.setAttribute("aria-disabled", "true");
      this.run.title = limits.reason ?? say("ui.run.off");
    }
    this.cancel.textContent = say("ui.run.cancel");
    this.cancel.addEventListener("click", () => hooks.cancel());
    this.menu.setAttribute("aria-label", say("ui.examples.label"));
    this.menu.append(el("option", { value: "" }, say("ui.examples.label")));
    for (const { id, title } of examples) this.menu.append(el("option", { value: id }, title));
    this.menu.addEventListener("change", () => {
      const example = examples.find((each) => each.id === this.menu.value);
      if (example !== undefined) hooks.choose(example);
    });
    this.devices = new DeviceMenu(messages, limits.devices, hooks.device);
    const compare = el("button", { type: "button", class: "button compare-button" }, say("ui.compare.button"));
    compare.addEventListener("click", () => hooks.compare());
    const share = el("button", { type: "button", class: "button share-button" }, say("ui.share.button"));
    share.addEventListener("click", () => hooks.share());
    document.getElementById("header-status")?.replaceChildren(this.offline, this.devices.badge, this.status);
    for (const name of ["online", "offline"]) addEventListener(name, () => this.connection());
    this.connection();
    document.getElementById("header-actions")?.replaceChildren(this.menu, this.devices.element, compare, share, this.cancel, this.run);
  }

  private connection(): void {
    this.offline.textContent = navigator.onLine ? "" : this.messages.text("ui.run.offline");
    this.offline.title = navigator.onLine ? "" : this.messages.text("ui.run.offline-means");
  }

  /** Says something in the header, and to who cannot see it. */
  tell(text: string): void {
    const pieces = text.split(SEPARATOR);
    this.status.classList.toggle("pieces", pieces.length > 1);
    this.status.replaceChildren(...pieces.flatMap((piece, i) => [...(i === 0 ? [] : [SEPARATOR]), el("span", {}, piece)]));
    this.status.title = text;
  }

  /** Says which device was chosen, and what a run took; null before it has run. */
  device(chosen: DeviceChoice, took: Trace["environment"] | null): void {
    this.devices.show(chosen, took);
  }

  /** Marks an example in the menu, or none. */
  mark(example: Example | null): void {
    this.menu.value = example?.id ?? "";
  }

  /** Shows how a run goes; null once it is over. */
  waiting(going: Going | null): void {
    this.cancel.hidden = going?.cancellable !== true;
    document.body.classList.toggle("running", going !== null);
    if (going === null) {
      this.run.removeAttribute("aria-busy");
      return;
    }
    this.run.setAttribute("aria-busy", "true");
    const { seconds, steps, line } = going;
    this.tell(this.messages.text("ui.run.running", { seconds, steps, line: line ?? 0 }));
  }
}
