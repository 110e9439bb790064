/** One card: code and what changed, one picture, the steps. For lessons and embeds. */
import type { Arrangement, Placed, Stage } from "./stage";
import { BriefView } from "./views/brief";
import { el } from "./views/dom";
import { OutcomeView } from "./views/outcome";
import { StepsView } from "./views/steps";

export const COMPACT: Arrangement = { name: "compact", arrange };

function arrange({ player, root, outline, messages, code, controls, banner, tools, showsCode, showsControls, figures }: Stage): Placed[] {
  const side = el("div", { class: "player-side" });
  const pictures = el("div", { class: "player-figures" });
  const timeline = el("div", { class: "player-steps" });
  const changes = el("div", { class: "changes-panel brief" });
  if (showsCode) side.append(player.codeBody);
  side.append(changes);
  root.replaceChildren(banner, el("div", { class: "player-main" }, side, pictures));
  if (showsControls) root.append(timeline);
  const placed: Placed[] = [
    [new OutcomeView(outline, messages, true), banner],
    [code, player.codeBody],
    [new BriefView(outline, messages), changes],
    ...figures(pictures),
  ];
  if (showsControls) placed.push([new StepsView(outline, messages, el("div", { class: "player-controls" }, controls.element, tools.timeline)), timeline]);
  return placed;
}
