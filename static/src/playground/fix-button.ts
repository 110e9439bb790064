/** Beside how a run ended: the way to the program with the change that its explanation offers. */
import { fixOf } from "../model/fix";
import type { Feature } from "../stage";
import { el } from "../views/dom";

/** A feature whose button hands over the mended program. */
export function fixButton(compare: (mended: string) => void): Feature {
  return ({ trace, banner, messages }) => {
    const mended = fixOf(trace);
    if (mended === null) return null;
    const button = el("button", { type: "button", class: "small-button fix-button" }, messages.text("ui.compare.fix"));
    button.addEventListener("click", () => compare(mended));
    return {
      // The banner is made anew once the program has been compared with an unobserved run of it.
      show: () => {
        if (!banner.contains(button)) banner.querySelector(".outcome-bar > [aria-expanded]")?.before(button);
      },
    };
  };
}
