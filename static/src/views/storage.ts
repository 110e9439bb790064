/**
 * The Memory panel: a lane per device, a place per storage, and beside them the storage looked at.
 *
 * Places come from the whole trace (`layout/devices.ts`), so stepping moves nothing. A storage is drawn
 * in its place when it comes to be, faded when it was freed, and its place may be another's later.
 */
import { lanesOf, nextTransfer, occupantOf, storageColours, type Lane, type Place } from "../layout/devices";
import { lookingAt, tensorsOn, type Looking } from "../layout/focus";
import { livesOf, type Lives, type StorageLife } from "../layout/lives";
import { keptFor } from "../layout/kept";
import { traitsOf } from "../layout/traits";
import { shortDtype, type ReadAs } from "../layout/values";
import type { Focus, State, StorageNow, TensorNow } from "../model/state";
import { isUnobserved } from "../model/unobserved";
import type { Trace } from "../schema/trace.gen";
import { ending, storageBadge, tuple } from "./badge";
import { sourceOf } from "./copies";
import { Detail } from "./detail";
import { el, renew, set, write } from "./dom";
import { Pixels } from "./pixels";
import { Cells } from "./place";
import { freedText, nameOf, originShort, originText, unnamedHolder } from "./readout";
import type { TilesLater } from "./tiles-later";
import { pick, type Say, type View } from "./view";

/** With more places than these in all, cells are drawn smaller: those of one tensor first, then shared ones. */
const ROOMY = 2;
const FULL = 6;
/** A freed storage is told for as many steps; then its place is free to see. */
const FADES = 3;

// As in memory.css: the raster of a lane, a place's words, and what is left free beside and below it.
const RASTER = 16;
const RASTER_HIGH = 4;
const NARROWEST = 112;
const MONO = { name: 7.83, about: 7.23, badge: 46, longest: 184 }; // what a place's words take
const NARROWEST_SHARED = 224; // "float32 · 12 × 4 B = 48 B · v1"
const HEAD = 43;
const GAP = 16;

/** What every part of the panel needs to know of the trace. */
interface Whole {
  readonly lives: Lives;
  readonly marks: ReadonlyMap<number, number>;
  readonly colours: ReadonlyMap<number, number>;
  readonly simulated: boolean;
  /** 0, 1 or 2: how small cells are drawn. */
  readonly dense: number;
  readonly say: Say;
  readonly art: TilesLater | null;
}

export class StorageView implements View {
  private readonly lanes: LanePicture[] = [];
  private chips: PlacePicture[] = [];
  private readonly loose = el("ul", { class: "loose" });
  private readonly stage = el("div", { class: "stage" });
  private readonly count = el("span", { class: "small mute" });
  private detail: Detail | null = null;
  private trace: Trace | null = null;
  private say: Say = String;
  private strips = false;
  private shown: readonly [State, Focus] | null = null;

  constructor(
    /** Draws the tiles of large storages; null where pages must stay light. */
    private readonly art: TilesLater | null = null,
  ) {}

  mount(root: HTMLElement, trace: Trace, say: Say): void {
    this.trace = trace;
    this.say = say;
    const lives = livesOf(trace);
    const lanes = lanesOf(lives);
    const marks = new Map(lives.storages.flatMap((storage) => storage.views.map((view) => [view.tensor, view.mark] as const)));
    const places = lanes.reduce((n, lane) => n + lane.places.length, 0);
    const dense = places > FULL ? 2 : places > ROOMY ? 1 : 0;
    const whole = { lives, marks, colours: storageColours(lives), simulated: trace.environment.simulated, dense, say, art: this.art };
    this.lanes.splice(0, this.lanes.length, ...lanes.map((lane) => new LanePicture(lane, whole)));
    const dtypes = new Map(lives.storages.map(({ id, first }) => [id, first?.dtype ?? ""]));
    this.detail = new Detail(say, marks, whole.colours, dtypes, keptFor(lives), this.art);
    this.chips = lanes.flatMap((lane) => lane.chips.map((chip) => new PlacePicture(chip, whole)));
    this.stage.replaceChildren(...this.lanes.map((lane) => lane.root), this.unnamed() ?? "", this.loose);
    const body = el("div", { class: "memory-body" }, this.stage, this.detail.root);
    root.classList.add("memory");
    root.replaceChildren(el("header", {}, el("h2", {}, say("ui.memory.title")), this.count, el("span", { class: "space" }), this.toggle(root)), body);
  }

  show(state: State, focus: Focus): void {
    const looking = lookingAt(state, focus, state.step === 0 ? undefined : this.trace?.steps[state.step - 1], this.trace);
    this.shown = [state, focus];
    if (this.art !== null && this.art.now === null && [...state.storages.values()].some(({ tiles }) => tiles !== null)) this.art.load(() => this.again());
    for (const part of [...this.lanes, ...this.chips]) part.show(state, looking, this.strips);
    const mark = this.trace !== null && looking.storage !== null && isUnobserved(this.trace, state, looking.storage);
    this.detail?.show(state, looking, mark);
    this.showLoose(state);
    const storages = [...state.storages.values()].filter((storage) => !storage.freed);
    // With no cell to focus, a keyboard scrolls the stage itself.
    if (storages.length === 0) this.stage.tabIndex = 0;
    else this.stage.removeAttribute("tabindex");
    const tensors = storages.reduce((n, storage) => n + storage.tensors.length, 0);
    write(this.count, storages.length === 0 ? "" : this.say("ui.memory.count", { storages: storages.length, tensors }));
    set(this.count, "title", this.count.textContent);
  }

  settle(): void {
    this.detail?.settle();
  }

  private again(): void {
    if (this.shown !== null) this.show(...this.shown);
  }

  private toggle(root: HTMLElement): HTMLElement {
    const group = el("div", { class: "segments", role: "group", "aria-label": this.say("ui.memory.layout") });
    const choose = (mode: string): void => {
      this.strips = mode === "strip";
      root.classList.toggle("as-strips", this.strips);
      if (this.shown !== null) this.show(...this.shown);
      for (const button of group.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset["mode"] === mode));
    };
    for (const mode of ["grid", "strip"]) {
      const button = el("button", { type: "button", "data-mode": mode }, this.say(`ui.memory.${mode}`));
      button.addEventListener("click", () => choose(mode));
      group.append(button);
    }
    choose("grid");
    return group;
  }

  /** Storages without a name come last, so that they move nothing. */
  private unnamed(): HTMLElement | null {
    if (this.chips.length === 0) return null;
    const title = el("h3", { class: "lane-name" }, el("span", { class: "mute" }, this.say("ui.memory.unnamedLane")));
    return el("section", { class: "lane" }, title, el("div", { class: "chips" }, ...this.chips.map((chip) => chip.root)));
  }

  /** Named tensors without a storage of bytes: sparse, nested. */
  private showLoose(state: State): void {
    const loose = [...state.tensors.values()].filter((tensor) => tensor.storage === null && tensor.names.length > 0);
    this.loose.hidden = loose.length === 0;
    renew(
      this.loose,
      ...loose.map((tensor) => {
        const { names, view } = tensor;
        const about = [tuple(view.shape), shortDtype(view.dtype), view.layout.replace("torch.", "")].join(" · ");
        const traits = traitsOf(tensor).map(({ id, args }) => this.say(`trait.${id}`, args));
        if (view.layout !== "torch.strided") traits.push(this.say("ui.memory.noStorage"));
        return el("li", {}, el("b", {}, names[0] ?? ""), ` ${[about, ...traits].join(" · ")}`);
      }),
    );
  }
}

class LanePicture {
  readonly root: HTMLElement;
  private readonly places: PlacePicture[];
  private readonly alive = el("span", { class: "mute" });
  private readonly empty = el("p", { class: "lane-empty" });

  constructor(
    private readonly lane: Lane,
    private readonly whole: Whole,
  ) {
    const { say, simulated } = whole;
    this.places = lane.places.map((place) => new PlacePicture(place, whole));
    const pill = simulated && lane.device !== "cpu" && lane.device !== "meta" ? el("span", { class: "pill simulated" }, say("ui.simulated")) : null;
    const note = lane.device === "meta" ? el("span", { class: "mute" }, say("ui.memory.metaLane")) : null;
    this.root = el(
      "div",
      { class: "lane", role: "group", "aria-label": lane.device },
      el("h3", { class: "lane-name" }, lane.device, pill, note, this.alive),
      el("div", { class: "places" }, ...this.places.map((place) => place.root), this.empty),
    );
  }

  show(state: State, looking: Looking, strips: boolean): void {
    const { say } = this.whole;
    for (const place of this.places) place.show(state, looking, strips);
    const empty = this.lane.places.every((place) => occupantOf(place, state.step) === null);
    this.root.classList.toggle("waiting", empty);
    this.empty.hidden = !empty;
    if (empty) this.empty.textContent = this.whatWillCome(state.step);
    const bytes = state.alive.get(this.lane.device) ?? 0;
    write(this.alive, this.lane.device === "meta" ? "" : say("ui.memory.alive", { n: bytes }));
  }

  private whatWillCome(step: number): string {
    const { lives, say } = this.whole;
    const transfer = nextTransfer(lives, this.lane.device, step);
    const first = lives.storages.find((storage) => storage.device === this.lane.device && storage.named && storage.born > step);
    if (transfer !== null && transfer.line !== null && transfer.step <= (first?.born ?? transfer.step)) {
      return say("ui.memory.willCopy", { line: transfer.line, name: sourceOf(transfer), n: transfer.nbytes });
    }
    if (first === undefined || first.line === null) return say("ui.memory.nothing");
    return say("ui.memory.willMake", { line: first.line, n: first.nbytes });
  }
}

/** A place and who stands in it. */
class PlacePicture {
  readonly root: HTMLElement;
  private readonly head = el("div", { class: "place-head" });
  private readonly about = el("p", { class: "place-about" });
  private readonly body = el("div", { class: "place-body" });
  private occupant: StorageLife | null = null;
  private cells: Cells | Pixels | null = null;
  private headKey = "";
  /** Characters of a name that fit. */
  private room = Infinity;

  constructor(
    private readonly place: Place,
    private readonly whole: Whole,
  ) {
    this.root = el("article", { class: `place place-${place.kind}` }, this.head, this.about, this.body);
    this.root.addEventListener("click", () => this.choose());
    // The first storage is built at once: its cells give the place its size before anything stands in it.
    const first = place.storages[0];
    if (first !== undefined) this.build(first, "0x0");
  }

  show(state: State, looking: Looking, strips: boolean): void {
    const life = occupantOf(this.place, state.step);
    const storage = life === null ? undefined : state.storages.get(life.id);
    this.root.classList.toggle("waiting", storage === undefined);
    if (life === null || storage === undefined) {
      this.showWaiting();
      return;
    }
    if (life !== this.occupant || this.headKey === "") this.build(life, storage.address);
    this.root.classList.toggle("freed", storage.freed);
    // What was freed by an earlier step keeps its label, not its cells; a chip is no more.
    this.root.classList.toggle("freed-before", storage.freed && life.gone < state.step);
    this.root.classList.toggle("freed-long", storage.freed && life.gone + FADES <= state.step);
    this.root.classList.toggle("looked-at", looking.storage === storage.id);
    this.root.classList.toggle("written", state.written.has(storage.id));
    this.writeHead(state, storage);
    this.cells?.show(state, storage, looking, strips);
  }

  private build(life: StorageLife, address: string): void {
    const { marks, say, dense } = this.whole;
    const { first, nbytes, id } = life;
    this.occupant = life;
    const as: ReadAs | null = first === null ? null : { dtype: first.dtype, is_conj: false, is_neg: false };
    if (this.place.kind === "chip" || (this.cells instanceof Cells && this.cells.become(id, as, nbytes, address))) return;
    this.cells =
      this.place.kind === "pixels"
        ? new Pixels(this.place, id, as, marks, say, this.whole.art)
        : new Cells(this.place, id, as, marks, say, nbytes, address, dense);
    this.body.replaceChildren(this.cells.root);
    this.span("grid");
    this.span("strip");
    this.root.classList.toggle("meta", life.device === "meta");
  }

  /** How much of the lane's raster the place takes: the stylesheet packs places by it. */
  private span(mode: "grid" | "strip"): void {
    if (this.cells === null) return;
    const [width, height] = this.cells.size(mode);
    const least = this.place.kind === "shared" ? NARROWEST_SHARED : this.wordsTake();
    if (mode === "grid") this.room = Math.floor((Math.max(least, width) - MONO.badge) / MONO.name + 0.01);
    this.root.style.setProperty(`--${mode}-columns`, String(Math.ceil((Math.max(least, width) + GAP) / RASTER)));
    this.root.style.setProperty(`--${mode}-rows`, String(Math.ceil((height + HEAD + GAP) / RASTER_HIGH)));
  }

  /** Names that are told apart only by their ends are to be seen as far as there is room. */
  private wordsTake(): number {
    const takes = this.place.storages.map(({ first, nbytes, views }) => {
      const name = views.find((view) => view.name !== null)?.name ?? "";
      const about = `${tuple(first?.shape ?? null)} · ${this.whole.say("ui.memory.bytes", { n: nbytes })}`;
      return Math.min(MONO.longest, Math.max(name.length * MONO.name + MONO.badge, about.length * MONO.about));
    });
    return Math.max(NARROWEST, ...takes);
  }

  private showWaiting(): void {
    const next = this.place.storages[0];
    // As it was before anything stood here, whatever did since.
    if (next !== undefined && this.headKey !== "") this.build(next, "0x0");
    this.about.removeAttribute("title");
    this.head.textContent = next?.line == null ? "" : this.whole.say("ui.memory.line", { line: next.line });
    this.about.textContent = "\u00a0";
    this.headKey = "";
    this.root.classList.remove("freed", "freed-before", "looked-at", "written");
  }

  private writeHead(state: State, storage: StorageNow): void {
    const { say, colours } = this.whole;
    const tensors = tensorsOn(state, storage);
    const names = tensors.filter((tensor) => tensor.names.length > 0).map((tensor) => nameOf(tensor, say));
    const about = storage.freed ? freedText(say, storage, false) : this.aboutText(storage, tensors[0], names.length);
    const [short, full] = storage.freed ? ["", ""] : this.called(storage);
    const label = names.length === 0 ? short : names.length === 1 ? ending(names[0] ?? "", this.room) : names.length > 3 ? `${names.slice(0, 3).join(", ")}, …` : names.join(", ");
    const key = `${storage.id}|${label}|${about}`;
    if (key === this.headKey) return;
    this.headKey = key;
    const badge = storageBadge(storage.id, colours.get(storage.id) ?? 0);
    const called = el("span", { class: "place-names", title: names.join(", ") || full }, label);
    // A chip has no cells to point at: its label is the control.
    if (this.place.kind === "chip") renew(this.head, el("button", { type: "button" }, badge, called));
    else renew(this.head, badge, called);
    write(this.about, about);
    set(this.about, "title", about);
  }

  /** A storage whose tensors have no name: what made it, else who keeps it; short, and in full. */
  private called({ heldBy, origin, scalar }: StorageNow): readonly [string, string] {
    const { say } = this.whole;
    const holder = unnamedHolder(heldBy[0]) === null ? heldBy[0] : undefined;
    const short = (scalar === null ? null : say("trait.scalar", { value: scalar })) ?? originShort(origin) ?? holder ?? say("ui.memory.unnamed");
    return [short, scalar === null ? (originText(origin, say) ?? short) : short];
  }

  private aboutText(storage: StorageNow, now: TensorNow | undefined, names: number): string {
    const { say } = this.whole;
    // `t_()` and the like change the view after the box was made.
    const first = now?.view ?? this.occupant?.first ?? null;
    const version = now?.version ?? null;
    const size = say("ui.memory.bytes", { n: storage.nbytes });
    if (this.place.kind === "chip") return size;
    const cells = Math.floor(storage.nbytes / this.place.cellSize);
    if (storage.nbytes === 0) return `${tuple(first?.shape ?? null)} · ${size}`;
    if (this.place.kind === "pixels" || (this.place.kind === "single" && names <= 1)) return `${tuple(first?.shape ?? null)} · ${size}`;
    const parts = [shortDtype(first?.dtype ?? "?"), say("ui.memory.product", { cells, size: this.place.cellSize, n: storage.nbytes })];
    if (version !== null) parts.push(`v${version}`);
    return parts.join(" · ");
  }

  private choose(): void {
    if (this.place.kind !== "chip" || this.occupant === null) return;
    pick(this.root, { storage: this.occupant.id, tensor: null, index: null });
  }
}
