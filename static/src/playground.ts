/**
 * The playground: a player that fills the page, and an editor whose program the server runs.
 *
 * The address always holds the program and the step, so that it can be sent, and Back works. An
 * example comes with its recorded trace; everything else is run.
 */
import { draftFor, keepDraft, placeOf } from "./model/draft";
import { drawsNumbers, otherSeed } from "./model/chance";
import { carriesProgram, linkTo, readLink } from "./model/link";
import type { Messages } from "./model/messages";
import { unpack } from "./model/unpack";
import { Problem, runProgram, type Progress } from "./model/run";
import { dataBlock, pageMessages, setUpFrame } from "./page";
import { FEATURES } from "./features";
import { Player, type StepChange } from "./player";
import { WORKBENCH } from "./workbench";
import type { Compared } from "./model/unobserved";
import type { Comparison, Trace } from "./schema/trace.gen";
import { el } from "./views/dom";
import { Editor } from "./views/editor";
import { shareSheet } from "./views/share";

interface Example {
  readonly id: string;
  readonly title: string;
  readonly source: string;
  readonly src: string;
}

interface Limits {
  readonly run: boolean;
  readonly reason: string | null;
  /** Nothing that came with an address runs by itself: there is no sandbox here. */
  readonly ask: boolean;
}

/** When a run that takes long says so, counts seconds, and may be cancelled. */
const SHOW_MS = 200;
const COUNT_MS = 1000;
const CANCEL_MS = 3000;
const KEEP_EDITS_MS = 800;
const KEEP_STEP_MS = 150;

class Playground {
  private readonly messages: Messages;
  private readonly player: Player;
  private readonly editor: Editor;
  private readonly examples: readonly Example[];
  private readonly limits: Limits;
  private readonly status = el("span", { class: "run-status", role: "status" });
  private readonly run = el("button", { type: "button", class: "button primary run-button" });
  private readonly cancel = el("button", { type: "button", class: "button" });
  private readonly edit = el("button", { type: "button", class: "small-button edit-button", "aria-pressed": "false" });
  private readonly again = el("button", { type: "button", class: "small-button", hidden: true });
  private readonly menu = el("select", { class: "example-menu" });
  private readonly notice = el("p", { class: "notice problem", role: "alert", hidden: true });
  private readonly editing = el("div", { class: "code-editor", hidden: true });
  /** Holds the editor while there is no trace to stand beside it. */
  private readonly alone = el("section", { class: "card editor-alone" });
  private running: AbortController | null = null;
  /** The example whose recorded trace is shown; null when the program is the reader's. */
  private example: Example | null = null;
  private shownSource = "";
  /** Of the random numbers that are shown. */
  private seed = 0;
  private saving: ReturnType<typeof setTimeout> | undefined;
  private progress: Progress | null = null;
  private readonly stage = el("div", { class: "playground" });

  constructor(private readonly place: HTMLElement) {
    this.messages = pageMessages();
    this.examples = dataBlock<Example[]>("examples") ?? [];
    this.limits = dataBlock<Limits>("limits") ?? { run: true, reason: null, ask: false };
    const arena = el("div");
    this.stage.append(this.notice, arena);
    this.player = new Player(arena, this.messages, {
      arrangement: WORKBENCH,
      keys: "page",
      figures: ["memory", "devices", "graph"],
      code: true,
      controls: true,
      features: [...FEATURES, () => ({ show: () => undefined, keys: [["Ctrl ↵", "run"]] })],
    });
    this.editor = new Editor(this.say("ui.editor.label"), () => this.edited());
    this.editing.append(this.editor.element);
    this.setUpControls();
    arena.addEventListener("step-changed", (event) => this.stepChanged((event as CustomEvent<StepChange>).detail));
    document.addEventListener("keydown", (event) => this.key(event));
    addEventListener("popstate", () => void this.follow());
  }

  private say(id: string, args: Record<string, unknown> = {}): string {
    return this.messages.text(id, args);
  }

  /**
   * Shows what the address asks for: a program after the hash, else the example of the page. What the
   * reader wrote here before and the address does not hold yet comes back too.
   */
  async start(): Promise<void> {
    const draft = draftFor(placeOf(location));
    if (draft !== null && (draft.ran || carriesProgram(location.hash))) {
      const { step } = await readLink(location.hash);
      await this.showOwn(draft.source, step, draft.seed);
      return;
    }
    if (carriesProgram(location.hash)) {
      await this.follow();
      return;
    }
    const src = this.place.getAttribute("src");
    const { step } = await readLink(location.hash);
    await this.showRecorded(this.examples.find((each) => each.src === src) ?? null, src, step);
    if (draft === null) return;
    this.showSource(draft.source);
    this.edited();
  }

  private async showOwn(source: string, step: number | null, seed: number): Promise<void> {
    this.showSource(source);
    if (this.limits.ask) this.complain(new Problem("press-run", ""));
    else if (this.limits.run) await this.runSource(source, step ?? Number.MAX_SAFE_INTEGER, seed);
    else this.complain(new Problem("sandbox-unavailable", this.limits.reason ?? ""));
  }

  private setUpControls(): void {
    const key = el("kbd", {}, "Ctrl ↵");
    this.run.append(el("span", {}, this.say("ui.run.run")), key);
    this.run.addEventListener("click", () => void this.runEditor());
    this.cancel.textContent = this.say("ui.run.cancel");
    this.cancel.hidden = true;
    this.cancel.addEventListener("click", () => this.running?.abort());
    if (!this.limits.run) {
      this.run.setAttribute("aria-disabled", "true");
      this.run.title = this.limits.reason ?? this.say("ui.run.off");
    }
    this.edit.addEventListener("click", () => this.toggleEditor());
    this.labelEdit();
    this.again.textContent = this.say("ui.run.again");
    this.again.title = this.say("ui.run.again-title");
    this.again.addEventListener("click", () => void this.runAgain());
    this.player.tools.page.append(this.again, this.edit);
    this.menu.setAttribute("aria-label", this.say("ui.examples.label"));
    this.menu.append(el("option", { value: "" }, this.say("ui.examples.label")));
    for (const { id, title } of this.examples) this.menu.append(el("option", { value: id }, title));
    this.menu.addEventListener("change", () => void this.chooseExample());
    const share = el("button", { type: "button", class: "button share-button" }, this.say("ui.share.button"));
    share.addEventListener("click", () => void this.share());
    document.getElementById("header-status")?.replaceChildren(this.status);
    document.getElementById("header-actions")?.replaceChildren(this.menu, share, this.cancel, this.run);
  }

  // ---- what is shown

  private async showRecorded(example: Example | null, src: string | null, step: number | null): Promise<void> {
    try {
      const response = await fetch(src ?? "");
      if (src === null || !response.ok) throw new Problem("unreachable", "");
      this.show((await response.json()) as Trace, step, example);
      this.tell(this.say("ui.run.recorded", this.facts()));
    } catch {
      if (example !== null && this.limits.run) await this.runSource(example.source, step, 0);
      else this.complain(new Problem("unreachable", ""));
    }
  }

  private show(trace: Trace, step: number | null, example: Example | null): void {
    this.alone.remove();
    if (!this.stage.isConnected) this.place.replaceWith(this.stage);
    this.example = example;
    this.shownSource = trace.source;
    this.seed = trace.environment.seed ?? 0; // a playground always seeds
    this.again.hidden = !this.limits.run || !drawsNumbers(trace);
    this.menu.value = example?.id ?? "";
    this.player.load(trace, step ?? trace.steps.length);
    if (this.editor.source !== trace.source) this.editor.source = trace.source;
    this.openEditor(false);
    this.notice.hidden = true;
  }

  /** Shows a program that has not run here yet, and may never: Run can be off, or every sandbox busy. */
  private showSource(source: string): void {
    this.editor.source = source;
    if (this.player.trace !== null) {
      this.openEditor(true);
      return;
    }
    if (!this.stage.isConnected) this.place.replaceWith(this.stage);
    this.menu.value = "";
    this.editing.hidden = false;
    this.alone.append(this.editing);
    this.stage.append(this.alone);
  }

  private facts(): Record<string, unknown> {
    const trace = this.player.trace;
    const device = trace?.environment.simulated === true ? "simulated" : "real";
    return { steps: trace?.steps.length ?? 0, torch: trace?.environment.torch.split("+")[0] ?? "", device };
  }

  private tell(text: string): void {
    this.status.textContent = text;
  }

  private complain(problem: Problem): void {
    if (!this.stage.isConnected) {
      this.place.before(this.notice);
    }
    const id = `ui.problem.${problem.code}`;
    const args = { limit: problem.limit ?? 0, seconds: problem.retryAfter ?? 1, message: problem.message };
    const said = this.say(id, args);
    this.notice.textContent = said === id ? problem.message : said;
    this.notice.hidden = false;
    this.tell("");
  }

  // ---- running

  private async runEditor(): Promise<void> {
    if (!this.limits.run) {
      this.complain(new Problem("sandbox-unavailable", this.limits.reason ?? ""));
      return;
    }
    await this.runSource(this.editor.source, null, this.seed);
  }

  /** The program that is shown, with other random numbers, at the step that is shown. */
  private async runAgain(): Promise<void> {
    if (this.running !== null) return;
    await this.runSource(this.shownSource, this.player.step, otherSeed(this.seed));
    this.again.focus();
  }

  private async runSource(source: string, step: number | null, seed: number): Promise<void> {
    this.running?.abort();
    const control = new AbortController();
    this.running = control;
    this.notice.hidden = true;
    const began = performance.now();
    const timer = this.watch(began, control);
    try {
      let seconds = "";
      let early: Compared | null = null;
      const trace = await runProgram(source, seed, control.signal, {
        progress: (now) => (this.progress = now),
        compared: (result) => {
          if (seconds === "") early = result;
          else this.compared(control, trace, seconds, result);
        },
      }, unpack);
      clearInterval(timer);
      seconds = ((performance.now() - began) / 1000).toFixed(2);
      this.show(trace, step, null);
      this.done(seconds, trace.comparison.state);
      if (early !== null) this.compared(control, trace, seconds, early);
      await this.write(step === null ? "push" : "replace");
    } catch (error) {
      if (this.running !== control) return;
      if (control.signal.aborted) this.tell(this.say("ui.run.cancelled"));
      else this.complain(error instanceof Problem ? error : new Problem("internal", String(error)));
    } finally {
      clearInterval(timer);
      if (this.running === control) this.rest();
    }
  }

  /** Says that a run is over, and whether the program ends alike when nobody watches. */
  private done(seconds: string, state: Comparison["state"]): void {
    const compared = this.say("ui.run.compared", { state });
    this.tell(`${this.say("ui.run.done", { ...this.facts(), seconds })} · ${compared}`);
  }

  /** The unobserved run has ended; the reader may have gone on to another program meanwhile. */
  private compared(run: AbortController, trace: Trace, seconds: string, result: Compared): void {
    if (this.player.trace?.source !== trace.source || this.player.trace.comparison.state !== "pending") return;
    this.player.compare(result);
    const other = this.running !== null && this.running !== run;
    if (this.editor.source === this.shownSource && !other) this.done(seconds, result.comparison.state);
  }

  /** Says how a run goes: nothing at first, then that it runs, then seconds, then a way out. */
  private watch(began: number, control: AbortController): ReturnType<typeof setInterval> {
    this.progress = null;
    return setInterval(() => {
      if (this.running !== control) return;
      const ms = performance.now() - began;
      if (ms < SHOW_MS) return;
      document.body.classList.add("running");
      this.run.setAttribute("aria-busy", "true");
      const seconds = ms < COUNT_MS ? 0 : Math.floor(ms / 1000);
      const { steps, line } = this.progress ?? { steps: 0, line: null };
      this.tell(this.say("ui.run.running", { seconds, steps, line: line ?? 0 }));
      this.cancel.hidden = ms < CANCEL_MS;
    }, 100);
  }

  private rest(): void {
    this.running = null;
    this.cancel.hidden = true;
    this.run.removeAttribute("aria-busy");
    document.body.classList.remove("running");
  }

  // ---- editing

  private toggleEditor(): void {
    if (this.editing.hidden) {
      this.openEditor(true);
      this.editor.focus(this.player.currentLine ?? 1);
    } else if (this.editor.source !== this.shownSource && this.limits.run) void this.runEditor();
    else this.openEditor(false);
  }

  private openEditor(open: boolean): void {
    const { codeBody } = this.player;
    if (this.editing.parentElement !== codeBody.parentElement) codeBody.after(this.editing);
    this.editing.hidden = !open;
    codeBody.hidden = open;
    this.edit.setAttribute("aria-pressed", String(open));
    this.labelEdit();
  }

  private labelEdit(): void {
    const open = !this.editing.hidden;
    this.edit.textContent = open ? this.say("ui.editor.steps") : `✎ ${this.say("ui.editor.edit")}`;
  }

  private edited(): void {
    this.tell(this.editor.source === this.shownSource ? "" : this.say("ui.editor.edited"));
    this.keep();
    this.writeSoon(KEEP_EDITS_MS);
  }

  private key(event: KeyboardEvent): void {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.defaultPrevented) return;
    event.preventDefault();
    void this.runEditor();
  }

  private async chooseExample(): Promise<void> {
    const example = this.examples.find((each) => each.id === this.menu.value);
    if (example === undefined) return;
    clearTimeout(this.saving);
    keepDraft(null);
    const address = new URL(location.href);
    address.searchParams.delete("program");
    address.searchParams.set("example", example.id);
    address.hash = "";
    history.pushState(null, "", address);
    await this.showRecorded(example, example.src, null);
  }

  // ---- the address

  private stepChanged({ jump }: StepChange): void {
    if (jump) void this.write("push");
    else this.writeSoon(KEEP_STEP_MS);
  }

  /** A held arrow key takes many steps: the address needs the last of them. */
  private writeSoon(ms: number): void {
    clearTimeout(this.saving);
    this.saving = setTimeout(() => void this.write("replace"), ms);
  }

  /** Puts the program and the step into the address. */
  private async write(how: "push" | "replace"): Promise<void> {
    clearTimeout(this.saving);
    const own = this.example === null || this.editor.source !== this.shownSource;
    const step = this.player.step;
    const hash = own ? await linkTo(this.editor.source, step, this.seed) : `#step=${step}`;
    if (hash === location.hash) return;
    if (how === "push") history.pushState(null, "", hash);
    else history.replaceState(null, "", hash);
    this.keep();
  }

  /** Keeps the reader's program at once; the address follows. An example as it is needs no keeping. */
  private keep(): void {
    const ran = this.editor.source === this.shownSource;
    if (this.example !== null && ran) keepDraft(null);
    else keepDraft({ source: this.editor.source, seed: this.seed, ran, place: placeOf(location) });
  }

  /** Shows what the address says now, after Back, Forward or an edit by hand. */
  private async follow(): Promise<void> {
    if (!carriesProgram(location.hash)) {
      const wanted = new URLSearchParams(location.search).get("example");
      const example = this.examples.find((each) => each.id === wanted) ?? this.examples[0] ?? null;
      const { step } = await readLink(location.hash);
      if (example !== null && this.shownSource === example.source) this.player.place(step ?? this.player.steps);
      else await this.showRecorded(example, example?.src ?? null, step);
      return;
    }
    const { source, step, seed } = await readLink(location.hash);
    if (source === null) this.complain(new Problem("unreadable-link", ""));
    else if (source === this.shownSource && seed === this.seed) this.player.place(step ?? this.player.steps);
    else await this.showOwn(source, step, seed);
  }

  private async share(): Promise<void> {
    const hash = await linkTo(this.editor.source, this.player.step, this.seed);
    const page = new URL("/playground", location.href);
    const frame = new URL("/embed/v1/", location.href);
    const title = this.say("ui.share.frame-title");
    const embed = `<iframe src="${frame.href}${hash}" width="100%" height="420" title="${title}" loading="lazy" allowfullscreen></iframe>`;
    const sheet = shareSheet(this.messages, { link: page.href + hash, embed });
    document.body.append(sheet);
    sheet.showModal();
  }
}

setUpFrame();
const place = document.getElementById("player");
if (place !== null) void new Playground(place).start();
