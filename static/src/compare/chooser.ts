/** The sheet that asks what a program is to be compared with. */
import type { Mended } from "../model/fix";
import type { Messages } from "../model/messages";
import { plain, type DeviceChoice, type Program } from "../model/program";
import { givenPairs } from "../playground/given";
import { el } from "../views/dom";
import { sentence } from "../views/sentence";
import { openSheet } from "../views/sheet";
import type { Contender } from "./bench";

export interface Choice {
  readonly left: Contender;
  readonly right: Contender;
  readonly edit: boolean;
  readonly fix: boolean;
}

/** What the reader has before them. */
export interface Before {
  /** What the trace that is shown is of. */
  readonly shown: Contender;
  /** The text in the editor. */
  readonly written: string;
  /** The program with each change that its explanation offers. */
  readonly fixes: readonly Mended[];
  readonly devices: readonly DeviceChoice[];
  /** Programs are run here. Where they are not, there are the pairs, whose traces are recorded. */
  readonly run: boolean;
}

/** Opens the sheet. */
export function openChooser(messages: Messages, before: Before, choose: (choice: Choice) => void): void {
  const say = messages.text;
  const option = (words: string | readonly (Text | HTMLElement)[], right: Program, { left = before.shown, edit = false, fix = false } = {}): HTMLElement => {
    const button = el("button", { type: "button", class: "compare-option" }, ...(typeof words === "string" ? marked(words) : words));
    button.addEventListener("click", () => {
      dialog.close();
      choose({ left, right: { program: right, trace: null }, edit, fix });
    });
    return el("li", {}, button);
  };
  const { program } = before.shown;
  const own: HTMLElement[] = [];
  for (const { kind, source } of before.fixes) own.push(option(sentence(messages.parts(`ui.compare.fix.${kind}`)), { ...program, source }, { fix: true }));
  if (before.written !== program.source) own.push(option(say("ui.compare.with-edit"), { ...program, source: before.written }));
  own.push(option(say("ui.compare.with-copy"), program, { edit: true }));
  const took = before.shown.trace?.environment.device;
  for (const device of before.devices) {
    if (device !== took) own.push(option(say("ui.compare.with-device", { device: say(`ui.device.${device}`) }), { ...program, device }));
  }
  const pairs = givenPairs().map(({ title, left, right }) => {
    return option(title, plain(right.source), { left: { program: plain(left.source), trace: null } });
  });
  const dialog = openSheet(
    messages,
    say("ui.compare.choose"),
    false,
    before.run ? el("h3", {}, say("ui.compare.this-program")) : null,
    before.run ? el("ul", { class: "compare-options" }, ...own) : null,
    pairs.length > 0 ? el("h3", {}, say("ui.compare.pairs")) : null,
    pairs.length > 0 ? el("ul", { class: "compare-options" }, ...pairs) : null,
  );
  dialog.classList.add("compare-chooser");
}

/** Text with `code` in it. */
function marked(text: string): (string | HTMLElement)[] {
  return text.split("`").map((piece, index) => (index % 2 === 0 ? piece : el("code", {}, piece)));
}
