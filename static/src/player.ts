/**
 * The player: one trace, one step, one focus, and every view of them.
 *
 * Data goes down (`show` of each view), events come up (`pick`, `go-to-step`, `play-or-pause`,
 * `point-at`). It is the only module that knows all views. `Player` builds itself into an element;
 * `<trace-player>` (trace-player.ts) is the same as an element of its own.
 */
import { History } from "./model/history";
import type { Messages } from "./model/messages";
import { nextChange, outlineOf, type Outline } from "./model/outline";
import { LAYERS, NO_FOCUS, type Focus, type State } from "./model/state";
import { unobserved, type Compared } from "./model/unobserved";
import type { SourceRange, Trace } from "./schema/trace.gen";
import type { Arrangement, Extra, Feature, Stage } from "./stage";
import { CodeView } from "./views/code";
import { Controls, PLAY_EVENT } from "./views/controls";
import { el } from "./views/dom";
import { AutogradView } from "./views/autograd";
import { helpSheet } from "./views/help";
import { OutcomeView } from "./views/outcome";
import { StorageView } from "./views/storage";
import type { Pick, View } from "./views/view";

export type FigureName = "memory" | "devices" | "graph";

export interface PlayerOptions {
  /** `workbench`: cards that fill a page. `compact`: one card, for lessons and embeds. */
  readonly arrangement: Arrangement;
  /** Where keys count: anywhere on the page but in editors, or only while the focus is inside. */
  readonly keys: "page" | "inside";
  readonly figures: readonly FigureName[];
  readonly code: boolean;
  readonly controls: boolean;
  /** What the page brings along beside the core: see `stage.ts`. */
  readonly features: readonly Feature[];
}

/** Detail of a `step-changed` event. A jump is more than one step: worth an entry in the history. */
export interface StepChange {
  readonly step: number;
  readonly jump: boolean;
}

const SCHEMA_VERSION = 1;
const PLAY_MS = 900;

interface Loaded {
  readonly trace: Trace;
  readonly history: History;
  readonly outline: Outline;
  readonly code: CodeView;
  readonly controls: Controls;
  readonly views: readonly View[];
  readonly extras: readonly Extra[];
  readonly banner: HTMLElement;
  readonly stage: Stage;
}

export class Player {
  /** Room for what a page and its features add: the page's stays, features fill theirs for every trace. */
  readonly tools: Stage["tools"] = {
    page: el("div", { class: "code-tools" }),
    code: el("div", { class: "code-tools" }),
    timeline: el("div", { class: "timeline-tools" }),
  };
  /** Where the code is shown; a page may put an editor in its place. */
  readonly codeBody = el("div", { class: "code-body", tabindex: -1 });
  private loaded: Loaded | null = null;
  private at = 0;
  /** Where a key that is held down leads with the next frame. */
  private held: number | null = null;
  private figure: FigureName = "memory";
  private focus: Focus = NO_FOCUS;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private features: readonly Feature[];

  constructor(
    private readonly root: HTMLElement,
    private readonly messages: Messages,
    private readonly options: PlayerOptions,
  ) {
    this.features = options.features;
    root.classList.add("player", `player-${options.arrangement.name}`);
    root.addEventListener("pick", (event) => this.pick((event as CustomEvent<Pick>).detail));
    root.addEventListener("go-to-step", (event) => this.go((event as CustomEvent<number>).detail));
    root.addEventListener("drag-to-step", (event) => this.go((event as CustomEvent<number>).detail, false));
    root.addEventListener("point-at", (event) => this.loaded?.code.point((event as CustomEvent<SourceRange | null>).detail));
    root.addEventListener(PLAY_EVENT, () => (this.timer === null ? this.play() : this.pause()));
    const keys = options.keys === "page" ? document : root;
    keys.addEventListener("keydown", (event) => this.key(event as KeyboardEvent));
  }

  private get compact(): boolean {
    return this.options.arrangement.name === "compact";
  }

  get step(): number {
    return this.at;
  }

  /** What the reader points at. */
  get focused(): Focus {
    return this.focus;
  }

  get state(): State | null {
    return this.loaded?.history.state(this.at) ?? null;
  }

  get steps(): number {
    return this.loaded?.history.steps ?? 0;
  }

  /** First line of the current step's statement; the line that raised when nothing ran. */
  get currentLine(): number | null {
    if (this.loaded === null) return null;
    return this.loaded.outline.steps[this.at - 1]?.line ?? this.loaded.trace.outcome.line;
  }

  get trace(): Trace | null {
    return this.loaded?.trace ?? null;
  }

  /** The card of a picture, for who wants to copy it; null when it is not shown. */
  panel(name: FigureName | "timeline"): HTMLElement | null {
    return this.root.querySelector(`.player-${name}`);
  }

  /** Shows a trace, at a step or else at its last. */
  load(trace: Trace, step = trace.steps.length): void {
    this.pause();
    if (trace.schema_version !== SCHEMA_VERSION) {
      this.root.replaceChildren(el("p", { class: "notice" }, this.messages.text("ui.player.unknown-version")));
      return;
    }
    trace = unobserved(trace);
    const outline = outlineOf(trace);
    const code = new CodeView(outline);
    const controls = this.options.arrangement.controls?.(this.messages) ?? new Controls(this.messages);
    const banner = el("div");
    const stage: Stage = {
      player: this,
      root: this.root,
      trace,
      outline,
      messages: this.messages,
      code,
      controls,
      banner,
      tools: this.tools,
      showsCode: this.options.code,
      showsControls: this.options.controls,
      figures: (into) => this.figures(into, trace, outline),
    };
    const shown = this.options.arrangement.arrange(stage);
    for (const [view, root] of shown) view.mount(root, trace, this.messages.text);
    for (const slot of [this.tools.code, this.tools.timeline]) slot.replaceChildren();
    const views = shown.map(([view]) => view);
    const extras = this.features.flatMap((feature) => feature(stage, views) ?? []);
    this.loaded = { trace, history: new History(trace), outline, code, controls, views, extras, banner, stage };
    this.at = Math.max(0, Math.min(step, trace.steps.length));
    this.focus = NO_FOCUS;
    this.root.classList.add("loaded");
    this.show();
  }

  /** Adds features to the trace that is shown, and to those that will be. */
  extend(features: readonly Feature[]): void {
    this.features = [...this.features, ...features];
    if (this.loaded === null) return;
    const { stage, views, extras } = this.loaded;
    this.loaded = { ...this.loaded, extras: [...extras, ...features.flatMap((feature) => feature(stage, views) ?? [])] };
    this.show();
  }

  /**
   * Shows what an unobserved run of the program had otherwise, where the reader is. Only values and graph
   * nodes that it changes make the pictures anew.
   */
  compare(result: Compared): void {
    if (this.loaded === null) return;
    const trace: Trace = { ...this.loaded.trace, ...result };
    if (result.comparison.contents.length === 0 && result.comparison.nodes.length === 0) {
      const { outline, banner } = this.loaded;
      this.loaded = { ...this.loaded, trace };
      new OutcomeView(outline, this.messages, this.compact).mount(banner, trace);
      this.show();
      return;
    }
    const { focus, at } = this;
    const playing = this.timer !== null;
    this.load(trace, at);
    this.pick(focus);
    if (playing) this.play();
  }

  /** Goes to a step, as near as there is one. A drag over many is no jump. */
  go(step: number, mayJump = true): void {
    if (this.loaded === null) return;
    const least = Math.min(1, this.steps);
    const to = Math.max(least, Math.min(step, this.steps));
    if (to === this.at) return;
    const jump = mayJump && Math.abs(to - this.at) > 1;
    this.at = to;
    this.focus = NO_FOCUS;
    this.show();
    this.root.dispatchEvent(new CustomEvent<StepChange>("step-changed", { detail: { step: to, jump }, bubbles: true }));
  }

  /** Goes to a step without telling the page: the page said so. */
  place(step: number): void {
    if (this.loaded === null) return;
    this.pause();
    this.at = Math.max(0, Math.min(step, this.steps));
    this.focus = NO_FOCUS;
    this.show();
  }

  private show(): void {
    if (this.loaded === null) return;
    const { history, views, extras, controls } = this.loaded;
    const state = history.state(this.at);
    controls.show(this.at, this.steps, this.timer !== null);
    const all = [...views, ...extras];
    for (const each of all) each.show(state, this.focus);
    // Scrolling makes the browser lay out all that changed: after the last change it does so once.
    for (const each of all) each.settle?.();
  }

  private pick(detail: Pick): void {
    this.focus = { ...this.focus, ...detail };
    this.show();
  }

  private play(): void {
    if (this.loaded === null || this.timer !== null) return;
    if (this.at >= this.steps) this.go(1);
    const { controls } = this.loaded;
    const next = (): void => {
      this.go(this.at + 1);
      if (this.at >= this.steps) this.pause();
      else this.timer = setTimeout(next, PLAY_MS / controls.speed);
    };
    this.timer = setTimeout(next, PLAY_MS / controls.speed);
    this.show();
  }

  private pause(): void {
    if (this.timer === null) return;
    clearTimeout(this.timer);
    this.timer = null;
    this.show();
  }

  private key(event: KeyboardEvent): void {
    if (this.loaded === null || !this.root.isConnected || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target instanceof Element ? event.target : null;
    if (target?.closest("input, textarea, select, [contenteditable], dialog") != null) return;
    if (this.act(this.loaded.outline, event.key, target, event.repeat)) event.preventDefault();
  }

  private act(outline: Outline, key: string, target: Element | null, repeated: boolean): boolean {
    const layer = LAYERS[Number(key) - 1];
    if (layer !== undefined) {
      const step = nextChange(outline, this.at, layer);
      if (step !== null) this.user(step);
      return true;
    }
    const at = this.held ?? this.at;
    const moves: Readonly<Record<string, number>> = {
      ArrowLeft: at - 1,
      ArrowRight: at + 1,
      Home: 1,
      End: this.steps,
    };
    const to = moves[key];
    if (to !== undefined) {
      // A grid and a list of tabs have arrows of their own.
      if (target?.closest("[role=grid], [role=tablist], [role=radiogroup]") != null) return false;
      this.user(to, repeated);
      return true;
    }
    if (key === " " && target?.closest("button, a, summary, [role=tab], [role=button], .changes-body") == null) {
      if (this.timer === null) this.play();
      else this.pause();
      return true;
    }
    if (key === "?") {
      this.help();
      return true;
    }
    return this.loaded?.extras.some((extra) => extra.key?.(key) === true) ?? false;
  }

  /** Opens the sheet of keys; a row of a feature does what its key does. */
  help(): void {
    const extras = this.loaded?.extras ?? [];
    const sheet = helpSheet(this.messages, extras.flatMap(({ keys }) => keys ?? []));
    this.root.append(sheet);
    sheet.showModal();
    sheet.addEventListener("click", (event) => {
      const key = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-key]")?.dataset["key"] : undefined;
      if (key === undefined) return;
      sheet.close();
      extras.some((extra) => extra.key?.(key) === true);
    });
  }

  /** The reader's own move ends playing. Of a key held down a frame shows the last: what is shown never lags behind it. */
  private user(step: number, repeated = false): void {
    this.pause();
    if (!repeated) {
      this.held = null;
      this.go(step);
      return;
    }
    if (this.held === null) {
      requestAnimationFrame(() => {
        if (this.held !== null) this.go(this.held, false);
        this.held = null;
      });
    }
    this.held = step;
  }

  private figures(into: HTMLElement, trace: Trace, outline: Outline): [View, HTMLElement][] {
    const makers: Readonly<Partial<Record<FigureName, () => View>>> = {
      memory: () => new StorageView(),
      graph: () => new AutogradView(),
      ...this.options.arrangement.figures,
    };
    const { compact } = this;
    const several = outline.alive.length > 1;
    const graphless = this.options.figures.length > 1 && trace.graph === null;
    const names = this.options.figures.filter((name) => {
      return (name !== "devices" || several) && (name !== "graph" || !compact || !graphless);
    });
    const places = names.map((name) => el("section", { class: `card player-${name}`, "data-figure": name }));
    into.classList.toggle("graphless", graphless);
    into.append(...places);
    if (compact && names.length > 1) into.prepend(this.figureTabs(names, places));
    return names.flatMap((name, index): [View, HTMLElement][] => {
      const [view, place] = [makers[name]?.(), places[index]];
      return view === undefined || place === undefined ? [] : [[view, place]];
    });
  }

  /** Where there is room for one picture only, which one. */
  private figureTabs(names: readonly FigureName[], places: readonly HTMLElement[]): HTMLElement {
    const tabs = el("div", { class: "figure-tabs segments", role: "group", "aria-label": this.messages.text("ui.figures.label") });
    const choose = (chosen: FigureName): void => {
      this.figure = chosen;
      places.forEach((place) => (place.hidden = place.dataset["figure"] !== chosen));
      for (const button of tabs.children) button.setAttribute("aria-pressed", String(button.getAttribute("data-figure") === chosen));
    };
    for (const name of names) {
      const button = el("button", { type: "button", "data-figure": name }, this.messages.text(`ui.figures.${name}`));
      button.addEventListener("click", () => {
        choose(name);
        this.show();
      });
      tabs.append(button);
    }
    choose(names.includes(this.figure) ? this.figure : (names[0] ?? "memory"));
    return tabs;
  }
}
