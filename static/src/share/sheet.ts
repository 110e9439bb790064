/**
 * The sheet of everything that leaves the page: a link, lines that embed the program, pictures of the
 * panels, the data. Loaded when first opened.
 */
import type { Messages } from "../model/messages";
import type { Program } from "../model/program";
import type { Player } from "../player";
import { el } from "../views/dom";
import { openSheet } from "../views/sheet";
import { pictureOf, pngOf } from "./picture";
import { save } from "./save";
import { fileName, snippet, SNIPPET_KINDS, type Embedded, type SnippetKind } from "./snippets";

/** What can be shared. */
export interface Shared {
  /** Address of the page, with program, step and language. */
  readonly link: string;
  /** Null where there is nothing to embed. */
  readonly embed: Embedded | null;
  /** Null where no single trace is shown. */
  readonly player: Player | null;
  readonly program: Program | null;
  /** What the program is called, in captions. */
  readonly title: string;
  /** Programs are run here: the state document comes from the server. */
  readonly runs: boolean;
}

const PANELS = ["memory", "graph", "devices", "timeline"] as const;

/** Opens the sheet. */
export function openShareSheet(messages: Messages, shared: Shared): void {
  const { embed, player } = shared;
  const dialog = openSheet(
    messages,
    messages.text("ui.share.title"),
    false,
    field(messages, "link", shared.link),
    el("p", { class: "sheet-note" }, messages.text("ui.share.note")),
    embed === null ? null : embedding(messages, embed),
    player?.trace == null ? null : pictures(messages, shared, player),
    player?.trace == null ? null : data(messages, shared, player),
  );
  dialog.classList.add("share-sheet");
}

function field(messages: Messages, name: string, text: string): HTMLElement {
  const input = el("input", { type: "text", readonly: true, value: text, id: `share-${name}` });
  input.addEventListener("focus", () => input.select());
  const label = el("label", { for: `share-${name}` }, messages.text(`ui.share.${name}`));
  return el("div", { class: "share-field" }, label, el("div", { class: "share-row" }, input, copyButton(messages, input)));
}

function copyButton(messages: Messages, from: HTMLInputElement | HTMLTextAreaElement): HTMLElement {
  const copy = el("button", { type: "button", class: "button" }, messages.text("ui.share.copy"));
  copy.addEventListener("click", () => void copied(from).then((done) => {
    copy.textContent = messages.text(done ? "ui.share.copied" : "ui.share.selected");
  }));
  return copy;
}

/** Copies, or where that is refused selects, so that the reader can. */
async function copied(from: HTMLInputElement | HTMLTextAreaElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(from.value);
    return true;
  } catch {
    from.select();
    return false;
  }
}

/** The lines for another page: which kind, and which pictures the player shows there. */
function embedding(messages: Messages, embedded: Embedded): HTMLElement {
  const say = messages.text;
  const text = el("textarea", { readonly: true, rows: 3, id: "share-embed", wrap: "soft" });
  text.addEventListener("focus", () => text.select());
  let kind: SnippetKind = "html";
  const view = choice(say("ui.share.view"), "share-view", [["", "both"], ["memory", "memory"], ["graph", "graph"]].map(([value, id]) => [value ?? "", say(`ui.share.view-${id ?? ""}`)]));
  const theme = choice(say("ui.share.theme"), "share-theme", ["", "light", "dark"].map((value) => [value, say(`ui.share.theme-${value === "" ? "auto" : value}`)]));
  const write = (): void => {
    const frame = new URL(embedded.frame);
    for (const [name, { select }] of [["view", view], ["theme", theme]] as const) {
      if (select.value === "") frame.searchParams.delete(name);
      else frame.searchParams.set(name, select.value);
    }
    text.value = snippet(kind, { ...embedded, frame: frame.href });
  };
  const kinds = el("div", { class: "segments", role: "group", "aria-label": say("ui.share.embed") });
  for (const [each, name] of SNIPPET_KINDS) {
    const button = el("button", { type: "button", "aria-pressed": String(each === kind) }, name);
    button.addEventListener("click", () => {
      kind = each;
      for (const other of kinds.children) other.setAttribute("aria-pressed", String(other === button));
      write();
    });
    kinds.append(button);
  }
  for (const { select } of [view, theme]) select.addEventListener("change", write);
  write();
  const label = el("label", { for: "share-embed" }, say("ui.share.embed"));
  return el("div", { class: "share-field" }, label, el("div", { class: "share-options" }, kinds, view.element, theme.element), el("div", { class: "share-row" }, text, copyButton(messages, text)));
}

function choice(label: string, id: string, options: readonly (readonly string[])[]): { element: HTMLElement; select: HTMLSelectElement } {
  const select = el("select", { id }, ...options.map(([value, words]) => el("option", { value: value ?? "" }, words ?? "")));
  return { select, element: el("label", { for: id, class: "share-choice" }, label, " ", select) };
}

/** A download of each panel that is there. */
function pictures(messages: Messages, shared: Shared, player: Player): HTMLElement {
  const say = messages.text;
  const status = el("p", { class: "sheet-note", role: "status" });
  const list = el("ul", { class: "share-list" });
  for (const name of PANELS) {
    const panel = player.panel(name);
    if (panel === null) continue;
    const words = say(`ui.share.panel-${name}`);
    const row = el("li", {}, el("span", {}, words));
    for (const ending of ["svg", "png"] as const) {
      const button = el("button", { type: "button", class: "small-button", "aria-label": `${words}: ${ending.toUpperCase()}` }, ending.toUpperCase());
      button.addEventListener("click", () => void download(panel, name, ending));
      row.append(button);
    }
    list.append(row);
  }
  const download = async (panel: HTMLElement, name: string, ending: "svg" | "png"): Promise<void> => {
    const file = fileName(name, player.step, ending);
    try {
      const picture = pictureOf(panel, caption(messages, shared, player));
      save(file, ending === "svg" ? new Blob([picture.text], { type: "image/svg+xml" }) : await pngOf(picture));
      status.textContent = say("ui.share.saved", { file });
    } catch {
      status.textContent = say("ui.share.not-saved", { file });
    }
  };
  return el("div", { class: "share-field" }, el("h3", {}, say("ui.share.pictures")), list, status);
}

/** What the picture is of: program, step, torch, and whether its device was simulated. */
export function caption(messages: Messages, { title }: Shared, player: Player): string {
  const environment = player.trace?.environment;
  const args = { title, step: player.step, steps: player.steps, torch: environment?.torch.split("+")[0] ?? "", device: environment?.simulated === true ? "simulated" : "real" };
  return messages.text("ui.share.caption", args);
}

function data(messages: Messages, shared: Shared, player: Player): HTMLElement {
  const say = messages.text;
  const status = el("p", { class: "sheet-note", role: "status" });
  const trace = el("button", { type: "button", class: "small-button" }, say("ui.share.trace"));
  trace.addEventListener("click", () => {
    const file = fileName("trace", null, "json");
    save(file, new Blob([JSON.stringify(player.trace)], { type: "application/json" }));
    status.textContent = say("ui.share.saved", { file });
  });
  const state = el("button", { type: "button", class: "small-button" }, say("ui.share.state", { step: player.step }));
  state.hidden = !shared.runs || shared.program === null;
  state.addEventListener("click", () => void saveState(shared.program, player.step).then(
    (file) => (status.textContent = say("ui.share.saved", { file })),
    () => (status.textContent = say("ui.share.not-saved", { file: fileName("state", player.step, "json") })),
  ));
  return el("div", { class: "share-field" }, el("h3", {}, say("ui.share.data")), el("div", { class: "share-row" }, trace, state), status);
}

/** The state document of a step, as the server computes it. */
async function saveState(program: Program | null, step: number): Promise<string> {
  const response = await fetch(`/api/trace?format=state&step=${step}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(program),
  });
  if (!response.ok) throw new Error(String(response.status));
  const file = fileName("state", step, "json");
  save(file, await response.blob());
  return file;
}
