/** The sheet with the link to a program and the lines that embed it. */
import type { Messages } from "../model/messages";
import { el } from "./dom";

/** What can be copied, each with the id of its label. */
export interface Shared {
  readonly link: string;
  readonly embed: string;
}

/** A modal sheet; `showModal()` opens it. */
export function shareSheet(messages: Messages, shared: Shared): HTMLDialogElement {
  const title = el("h2", { id: "share-title" }, messages.text("ui.share.title"));
  const close = el("button", { type: "button", class: "button" }, messages.text("ui.help.close"));
  const fields = (["link", "embed"] as const).map((name) => field(messages, name, shared[name]));
  const dialog = el("dialog", { class: "sheet", "aria-labelledby": "share-title" }, title, ...fields);
  dialog.append(el("p", { class: "sheet-note" }, messages.text("ui.share.note")), close);
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener("close", () => dialog.remove());
  return dialog;
}

function field(messages: Messages, name: keyof Shared, text: string): HTMLElement {
  const input = el("input", { type: "text", readonly: true, value: text, id: `share-${name}` });
  const copy = el("button", { type: "button", class: "button" }, messages.text("ui.share.copy"));
  input.addEventListener("focus", () => input.select());
  copy.addEventListener("click", () => void copied(input, text).then((done) => {
    copy.textContent = messages.text(done ? "ui.share.copied" : "ui.share.selected");
  }));
  const label = el("label", { for: `share-${name}` }, messages.text(`ui.share.${name}`));
  return el("div", { class: "share-field" }, label, el("div", { class: "share-row" }, input, copy));
}

/** Copies, or where that is refused selects, so that the reader can. */
async function copied(input: HTMLInputElement, text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    input.select();
    return false;
  }
}
