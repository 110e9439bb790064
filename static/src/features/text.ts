/** The whole run as a table, one key away: `t`. */
import type { Feature } from "../stage";
import { styled } from "../styles";
import { el } from "../views/dom";

export const TEXT: Feature = (stage) => {
  const open = (): void => void Promise.all([import("./text-sheet"), styled("sheets")]).then(([{ openText }]) => openText(stage));
  const word = stage.messages.text("ui.text.button");
  const title = stage.messages.text("ui.help.text");
  const button = el("button", { type: "button", class: "small-button tool-button", title, "aria-haspopup": "dialog" }, word);
  button.addEventListener("click", open);
  stage.tools.timeline.append(button);
  return {
    show: () => undefined,
    keys: [["t", "text"]],
    key: (key) => {
      if (key !== "t") return false;
      open();
      return true;
    },
  };
};
