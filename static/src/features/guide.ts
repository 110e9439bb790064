/**
 * The guided minute: offered once to who is here for the first time, and again to who asks for it (`h`,
 * or the sheet of keys). It never begins by itself. Its stops are loaded when it does.
 */
import { remember, remembered } from "../page";
import type { Feature, Stage } from "../stage";
import { el } from "../views/dom";

const SEEN = "guided-minute";
let offered = false;

export const GUIDE: Feature = (stage) => {
  const word = stage.messages.text("ui.help.title");
  const help = el("button", { type: "button", class: "small-button tool-button help-button", "aria-haspopup": "dialog", "aria-label": word }, "?");
  help.addEventListener("click", () => stage.player.help());
  stage.tools.timeline.append(help);
  if (!offered && remembered(SEEN) === null) offer(stage);
  return {
    show: () => undefined,
    keys: [["h", "guide"]],
    key: (key) => {
      if (key !== "h") return false;
      void begin(stage);
      return true;
    },
  };
};

async function begin(stage: Stage): Promise<void> {
  document.querySelector(".guide-offer")?.remove();
  remember(SEEN, "seen");
  const { startTour } = await import("../tour/tour");
  startTour(stage.messages, stage.root);
}

/** A row above everything: it covers nothing, and nothing has to be answered. */
function offer(stage: Stage): void {
  offered = true;
  const say = stage.messages.text;
  const start = el("button", { type: "button", class: "button primary" }, say("ui.guide.start"));
  const no = el("button", { type: "button", class: "button" }, say("ui.guide.no"));
  const card = el("aside", { class: "guide-offer", "aria-label": say("ui.guide.title") }, el("p", {}, say("ui.guide.offer")), el("div", { class: "guide-actions" }, start, no));
  start.addEventListener("click", () => void begin(stage));
  no.addEventListener("click", () => {
    remember(SEEN, "seen");
    card.remove();
  });
  stage.root.before(card);
}
