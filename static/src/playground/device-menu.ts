/** Which device a program is given, which one it took, and why; and a badge wherever that one is simulated. */
import { DEVICE_CHOICES, isDeviceChoice, type DeviceChoice } from "../model/program";
import type { Messages } from "../model/messages";
import type { Trace } from "../schema/trace.gen";
import { el } from "../views/dom";

type Environment = Trace["environment"];

let badges = 0;

export class DeviceMenu {
  readonly element = el("select", { class: "device-menu" });
  /** Says that what is shown is simulated; hidden otherwise. Its text opens on request. */
  readonly badge: HTMLElement;
  private readonly auto = el("option", { value: "auto" });
  private readonly about: HTMLElement;
  private readonly open: HTMLButtonElement;

  constructor(
    private readonly messages: Messages,
    private readonly devices: readonly DeviceChoice[],
    choose: (device: DeviceChoice) => void,
  ) {
    const say = messages.text;
    this.element.setAttribute("aria-label", say("ui.device.label"));
    this.auto.textContent = say("ui.device.auto");
    const others = DEVICE_CHOICES.filter((device) => device !== "auto" && devices.includes(device));
    this.element.append(this.auto, ...others.map((device) => el("option", { value: device }, say(`ui.device.${device}`))));
    this.element.addEventListener("change", () => {
      const { value } = this.element;
      if (isDeviceChoice(value)) choose(value);
    });
    badges += 1;
    const id = `device-about-${badges}`;
    this.about = el("div", { class: "device-about", id, popover: "auto" });
    this.open = el("button", { type: "button", class: "device-badge", popovertarget: id, hidden: true }, say("ui.device.badge"));
    this.badge = el("span", { class: "device-badge-place" }, this.open, this.about);
  }

  /** Shows what was chosen, and what a run took; null before it has run. */
  show(chosen: DeviceChoice, took: Environment | null): void {
    const say = this.messages.text;
    this.choose(chosen);
    const name = took === null ? null : say(`ui.device.${took.device}`);
    this.auto.textContent = chosen === "auto" && name !== null ? say("ui.device.auto-took", { took: name }) : say("ui.device.auto");
    const why = took === null ? "" : this.why(chosen, took);
    this.element.title = why;
    this.open.hidden = took?.simulated !== true;
    this.about.replaceChildren(el("p", {}, why), el("p", {}, say("ui.device.simulated-means")));
  }

  private choose(chosen: DeviceChoice): void {
    // A link may ask for a device that this server does not have.
    if (!Array.from(this.element.options).some(({ value }) => value === chosen)) {
      this.element.append(el("option", { value: chosen }, this.messages.text(`ui.device.${chosen}`)));
    }
    this.element.value = chosen;
  }

  private why(chosen: DeviceChoice, { device }: Environment): string {
    const real = this.devices.includes("cuda") ? "yes" : "no";
    return this.messages.text(chosen === "auto" ? "ui.device.why" : "ui.device.chosen", { device, real });
  }
}
