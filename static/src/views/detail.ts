/** One storage in words: the tensors that look at it, where an element lives, who keeps it. */
import type { Kept } from "../layout/kept";
import { tensorsOn, type Looking } from "../layout/focus";
import { traitsOf } from "../layout/traits";
import { shortDtype } from "../layout/values";
import type { State, StorageNow, TensorNow } from "../model/state";
import type { TensorView } from "../schema/trace.gen";
import { ending, storageBadge, swatch, tuple } from "./badge";
import { el, renew, type Child } from "./dom";
import { nameOf, originShort, Readout, unnamedHolder } from "./readout";
import { ReadingPicture } from "./reading";
import type { TilesLater } from "./tiles-later";
import { pick, type Say } from "./view";

const ROW_HEIGHT = 34;
const HEAD_HEIGHT = 24;
const LINE_HEIGHT = 16;
/** A longer name takes two lines of its row. */
const SHORT = 9;
const LINE = 12;
const LAST_PARTS = /(?<=\.)[^.].{0,11}$/;
const MOST_HOLDERS = 8;

export class Detail {
  readonly root = el("section", { class: "detail" });
  private readonly title = el("h3", { class: "detail-title" });
  private readonly table = el("table", {});
  private readonly frame: HTMLElement;
  private readonly readout: Readout;
  private readonly reading: ReadingPicture;
  private readonly summary = el("p", { class: "summary" });
  private readonly holders = el("p", { class: "holders" });
  private readonly traits = el("p", { class: "traits" });
  private tensors: readonly TensorNow[] = [];
  private chosen: number | null = null;
  private revealed: number | null = null;
  private readonly highest: number;
  /** Height of the table's window. */
  private seen = 0;

  constructor(
    private readonly say: Say,
    private readonly marks: ReadonlyMap<number, number>,
    private readonly colours: ReadonlyMap<number, number>,
    dtypes: ReadonlyMap<number, string>,
    { rows, lines, sums }: Kept,
    art: TilesLater | null,
  ) {
    this.readout = new Readout(say, marks, art);
    this.reading = new ReadingPicture(say, marks, dtypes);
    this.frame = el("div", { class: "views" }, this.table);
    this.highest = ROW_HEIGHT + (lines - 1) * LINE_HEIGHT;
    this.frame.style.setProperty("--rows", `${HEAD_HEIGHT + rows * ROW_HEIGHT + Math.min(rows, 2) * (this.highest - ROW_HEIGHT)}px`);
    this.root.style.setProperty("--sums", String(sums));
    this.table.addEventListener("click", ({ target }) => {
      // The first row is the heading.
      const row = target instanceof Element ? target.closest("tr") : null;
      const tensor = row === null ? undefined : this.tensors[row.rowIndex - 1];
      if (tensor !== undefined) pick(this.table, { storage: tensor.storage, tensor: tensor.id, index: null });
    });
    new ResizeObserver(() => (this.seen = this.frame.clientHeight)).observe(this.frame);
    this.root.append(this.title, this.frame, this.readout.root, this.traits, this.summary, this.holders, this.reading.root);
  }

  /** `unobserved`: the values are those of a run that nobody watched. */
  show(state: State, looking: Looking, unobserved = false): void {
    const storage = looking.storage === null ? undefined : state.storages.get(looking.storage);
    this.root.classList.toggle("empty", storage === undefined);
    if (storage === undefined) {
      for (const part of [this.title, this.table, this.traits, this.summary, this.holders]) part.replaceChildren();
      this.readout.clear();
      this.reading.clear();
      return;
    }
    const tensors = tensorsOn(state, storage);
    const badge = storageBadge(storage.id, this.colours.get(storage.id) ?? 0);
    const size = this.say("ui.memory.bytes", { n: storage.nbytes });
    const mark = unobserved ? el("span", { class: "unobserved" }, this.say("ui.memory.unobserved")) : null;
    renew(this.title, badge, this.say("ui.memory.lookingAt", { storage: `S${storage.id}` }), el("span", { class: "mute" }, size), mark);
    this.title.classList.toggle("marked", unobserved);
    this.writeTable(tensors, looking.tensor);
    this.writeTraits(tensors);
    this.readout.show(state, storage, looking);
    this.reading.show(state, storage, looking);
    this.writeSummary(state, looking);
    this.writeHolders(storage);
  }

  /** Of more rows than are seen at once, the one chosen is. */
  settle(): void {
    if (this.revealed === this.chosen) return;
    this.revealed = this.chosen;
    if (HEAD_HEIGHT + (this.table.rows.length - 1) * this.highest <= this.seen) return;
    const row = this.table.querySelector("tr.chosen")?.getBoundingClientRect();
    const frame = this.frame.getBoundingClientRect();
    if (row === undefined || row.height === 0) return;
    const [above, below] = [frame.top + HEAD_HEIGHT - row.top, row.bottom + 4 - frame.bottom];
    if (above > 0) this.frame.scrollTop -= above;
    else if (below > 0) this.frame.scrollTop += below;
  }

  private writeTable(tensors: readonly TensorNow[], chosen: number | null): void {
    const { say } = this;
    this.chosen = chosen;
    // A click on a row rebuilds the rows; the button that had the keyboard keeps it.
    const active = this.root.ownerDocument.activeElement;
    const focused = active instanceof HTMLElement && this.table.contains(active) ? active.dataset["tensor"] : undefined;
    const common = tensors[0]?.view.dtype;
    const dtypes = tensors.some((tensor) => tensor.view.dtype !== common);
    const columns = ["tensor", "shape", "stride", "offset", ...(dtypes ? ["dtype"] : []), "version", "contiguous"];
    const head = el("tr", {}, ...columns.map((column) => heading(say, column)));
    const rows = tensors.map((tensor) => this.row(tensor, tensor.id === chosen, dtypes));
    this.tensors = tensors;
    renew(this.table, el("thead", {}, head), el("tbody", {}, ...rows));
    if (focused !== undefined) this.table.querySelector<HTMLElement>(`[data-tensor="${focused}"]`)?.focus();
  }

  /** What the table has no column for: `y: 6 elements address 4 cells`. */
  private writeTraits(tensors: readonly TensorNow[]): void {
    const told = new Map<string, string[]>();
    for (const tensor of tensors) {
      const name = tensor.names[0];
      if (name === undefined) continue;
      for (const { id, args } of traitsOf(tensor)) {
        const words = this.say(`trait.${id}`, args);
        told.set(words, [...(told.get(words) ?? []), name]);
      }
    }
    renew(this.traits, ...[...told].map(([words, names]) => el("span", {}, el("b", {}, this.say("list.names", { names })), this.say("list.label", { label: "", text: words }))));
  }

  private row(tensor: TensorNow, chosen: boolean, dtypes: boolean): HTMLElement {
    const { view, names } = tensor;
    const whole = names.join(", ") || nameOf(tensor, this.say);
    const name = names.slice(0, 2).join(", ") || (originShort(tensor.origin) ?? whole);
    const text = names.length > 2 ? `${name}, …` : name;
    const long = names.length > 0 && text.length > SHORT;
    const label = el("span", { class: long ? "tensor-name long" : "tensor-name" }, ...(long ? pieces(text) : [text]));
    const button = el("button", { type: "button", "aria-pressed": String(chosen), "data-tensor": tensor.id, title: whole }, swatch(this.marks.get(tensor.id) ?? 0), label);
    const cells: Child[] = [
      el("th", { scope: "row" }, button),
      el("td", { class: "tuple" }, tuple(view.shape)),
      el("td", { class: "tuple" }, tuple(view.stride)),
      el("td", {}, view.storage_offset === null ? "–" : String(view.storage_offset)),
    ];
    if (dtypes) cells.push(el("td", {}, shortDtype(view.dtype)));
    cells.push(el("td", {}, tensor.version === null ? "–" : String(tensor.version)));
    cells.push(this.contiguous(view));
    return el("tr", { class: `${chosen ? "chosen" : ""}${names.length === 0 ? " unnamed" : ""}` }, ...cells);
  }

  private contiguous(view: TensorView): HTMLElement {
    const bits = [view.is_conj ? "conj" : "", view.is_neg ? "neg" : ""].filter((bit) => bit !== "").join(" ");
    const words = view.is_contiguous === null ? "–" : this.say(view.is_contiguous ? "ui.memory.yes" : "ui.memory.no");
    return el("td", {}, words, bits === "" ? null : el("span", { class: "bit" }, bits));
  }

  private writeSummary(state: State, looking: Looking): void {
    const summary = looking.tensor === null ? null : (state.tensors.get(looking.tensor)?.summary ?? null);
    this.summary.hidden = summary === null;
    if (summary === null) return;
    const { elements, looked_at: looked, minimum, maximum, mean } = summary;
    const figures = { minimum: figure(minimum), maximum: figure(maximum), mean: figure(mean), elements, looked };
    this.summary.textContent = this.say(looked < elements ? "ui.memory.sampled" : "ui.memory.summary", figures);
  }

  private writeHolders(storage: StorageNow): void {
    const { heldBy } = storage;
    const unnamed = unnamedHolder(heldBy[0]);
    const words: Child[] = [];
    if (unnamed !== null) words.push(this.say(unnamed));
    else {
      words.push(el("span", { class: "mute" }, this.say(heldBy.length === 0 ? "ui.memory.heldByNobody" : "ui.memory.heldBy")));
      for (const holder of heldBy.slice(0, MOST_HOLDERS)) {
        words.push(" ", el("code", { class: holder.includes("#") ? "holder holder-saved" : "holder" }, holder));
      }
      if (heldBy.length > MOST_HOLDERS) words.push(` ${this.say("ui.memory.more", { n: heldBy.length - MOST_HOLDERS })}`);
    }
    renew(this.holders, ...(storage.freed ? [] : words));
  }
}

/** A long name breaks after a dot; of what does not fit into two lines the end is told. */
function pieces(name: string): Child[] {
  const end = name.match(LAST_PARTS)?.[0] ?? name.slice(-LINE);
  return [ending(name.slice(0, -end.length), LINE), el("wbr"), end];
}

function heading(say: Say, column: string): HTMLElement {
  if (column === "contiguous") {
    const whole = say("ui.memory.contiguous");
    return el("th", { scope: "col", title: whole, "aria-label": whole }, say("ui.memory.contiguousShort"));
  }
  return el("th", { scope: "col" }, say(`ui.memory.${column}`));
}

function figure(value: number | string | null): string {
  if (value === null) return "–";
  return typeof value === "string" ? value : String(Number(value.toPrecision(4)));
}
