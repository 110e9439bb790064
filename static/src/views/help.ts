/** The sheet of all keys. */
import type { Messages } from "../model/messages";
import { el } from "./dom";

const KEYS: readonly (readonly [string, string])[] = [
  ["← →", "step"],
  ["Home End", "ends"],
  ["1", "data"],
  ["2", "metadata"],
  ["3", "autograd"],
  ["4", "device"],
  ["Space", "play"],
  ["↑ ↓", "lines"],
  ["← ↑ ↓ →", "cells"],
  ["?", "help"],
];

/** A modal sheet; `showModal()` opens it, Escape or its button closes it. */
export function helpSheet(messages: Messages, more: readonly (readonly [string, string])[] = []): HTMLDialogElement {
  const rows = [...KEYS, ...more].map(([keys, id], index) => {
    const shown = keys.split(" ").map((key) => el("kbd", {}, key));
    const words = messages.text(`ui.help.${id}`);
    // What a feature does at one key, its row does too.
    const act = index >= KEYS.length && keys.length === 1 ? el("button", { type: "button", class: "help-act", "data-key": keys }, words) : words;
    return el("tr", {}, el("th", { scope: "row" }, ...shown), el("td", {}, act));
  });
  const close = el("button", { type: "button", class: "button" }, messages.text("ui.help.close"));
  const title = el("h2", { id: "help-title" }, messages.text("ui.help.title"));
  const table = el("table", {}, el("tbody", {}, ...rows));
  const dialog = el("dialog", { class: "sheet", "aria-labelledby": "help-title" }, title, table, close);
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener("close", () => dialog.remove());
  return dialog;
}
