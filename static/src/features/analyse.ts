/** Charts of the whole run, one key away: `a`. They, their words and their library are loaded when first asked for. */
import type { State, Focus } from "../model/state";
import type { Feature } from "../stage";
import { styled } from "../styles";
import { el } from "../views/dom";
import { worded } from "../words-later";

export const ANALYSE: Feature = (stage) => {
  let shown: { readonly state: State; readonly focus: Focus } | null = null;
  const open = (): void => {
    const now = shown;
    const { messages } = stage;
    if (now !== null) void Promise.all([import("./analyse-sheet"), styled("sheets"), worded(messages)]).then(([{ openAnalysis }]) => openAnalysis(stage, now.state, now.focus));
  };
  const title = stage.messages.text("ui.help.analyse");
  const button = el("button", { type: "button", class: "small-button tool-button", title, "aria-haspopup": "dialog" });
  button.textContent = stage.messages.text("ui.analyse.button");
  button.addEventListener("click", open);
  stage.tools.timeline.append(button);
  return {
    show: (state, focus) => void (shown = { state, focus }),
    keys: [["a", "analyse"]],
    key: (key) => {
      if (key !== "a") return false;
      open();
      return true;
    },
  };
};
