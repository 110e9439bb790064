/** Cards that fill a page: code left, memory over graph right, the timeline across. */
import { LAYERS } from "./model/state";
import type { Messages } from "./model/messages";
import type { Arrangement, Placed, Stage } from "./stage";
import { DevicesView } from "./views/devices";
import { el } from "./views/dom";
import { layerIcon } from "./views/icons";
import { OutcomeView } from "./views/outcome";
import { StorageView } from "./views/storage";
import { TabsView } from "./views/tabs";
import { TilesLater } from "./views/tiles-later";
import { TimelineView } from "./views/timeline";
import { Transport } from "./views/transport";

export const WORKBENCH: Arrangement = {
  name: "page",
  arrange,
  controls: (messages) => new Transport(messages),
  figures: { devices: () => new DevicesView(), memory: () => new StorageView(new TilesLater()) },
};

function arrange({ player, root, outline, messages, code, controls, banner, tools, figures }: Stage): Placed[] {
  const [changes, timeline] = [el("div", { class: "changes-panel" }), card("timeline", messages)];
  const codeCard = card("code", messages);
  codeCard.append(codeHeader(messages, tools), player.codeBody, changes);
  const pictures = el("div", { class: "player-figures" });
  root.replaceChildren(banner, el("div", { class: "player-main" }, codeCard, pictures), timeline);
  return [
    [new OutcomeView(outline, messages, false), banner],
    [code, player.codeBody],
    [new TabsView(outline, messages), changes],
    ...figures(pictures),
    [new TimelineView(outline, messages, controls.element, tools.timeline), timeline],
  ];
}

function codeHeader(messages: Messages, { code, page }: Stage["tools"]): HTMLElement {
  const legend = el("span", { class: "lamps layer-legend", "aria-hidden": "true" });
  for (const layer of LAYERS) {
    const meaning = `${messages.text(`ui.layer.${layer}`)}. ${messages.text("ui.code.legend")}`;
    const icon = el("span", { title: meaning }, layerIcon(layer));
    legend.append(icon);
  }
  return el("header", {}, el("h2", {}, messages.text("ui.code.title")), el("span", { class: "space" }), code, page, legend);
}

function card(name: string, messages: Messages): HTMLElement {
  return el("section", { class: `card player-${name}`, "aria-label": messages.text(`ui.${name}.title`) });
}
