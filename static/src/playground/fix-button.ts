/** Beside how a run ended: the way to the program with the change that its explanation offers. */
import { fixesOf } from "../model/fix";
import type { Feature } from "../stage";
import { el } from "../views/dom";

/** A feature whose button hands over the mended program, with the likeliest of the changes. */
export function fixButton(compare: (mended: string) => void): Feature {
  return ({ trace, banner, messages }) => {
    const [mended] = fixesOf(trace);
    if (mended === undefined) return null;
    const title = messages.text(`ui.compare.fix.${mended.kind}`).replaceAll("`", "");
    const button = el("button", { type: "button", class: "small-button fix-button", title }, messages.text("ui.compare.fix"));
    button.addEventListener("click", () => compare(mended.source));
    return {
      // The banner is made anew once the program has been compared with an unobserved run of it.
      show: () => {
        if (!banner.contains(button)) banner.querySelector(".outcome-bar > [aria-expanded]")?.before(button);
      },
    };
  };
}
