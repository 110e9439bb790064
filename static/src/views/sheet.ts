/** A modal sheet: over the page, closed by Escape, its button, or a click beside it. */
import type { Messages } from "../model/messages";
import { el, type Child } from "./dom";

let sheets = 0;

/**
 * Opens a sheet with a title and a way out. When it closes it leaves the page, and the browser gives the
 * focus back to what had it.
 *
 * @param wide As large as the window, for tables and charts.
 */
export function openSheet(messages: Messages, title: string, wide: boolean, ...content: Child[]): HTMLDialogElement {
  sheets += 1;
  const heading = el("h2", { id: `sheet-${sheets}` }, title);
  const close = el("button", { type: "button", class: "button sheet-close" }, messages.text("ui.help.close"));
  const dialog = el("dialog", { class: wide ? "sheet sheet-wide" : "sheet", "aria-labelledby": heading.id });
  dialog.append(el("header", { class: "sheet-header" }, heading, close), ...content.filter((each) => each !== null));
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}
