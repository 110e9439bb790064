/**
 * The playground: a player that fills the page, and an editor whose program the server runs.
 *
 * An example comes with its recorded trace; everything else is run. What runs, edits, complains and
 * keeps the address stands in `playground/`; this decides what is shown.
 */
import { draftFor, placeOf, type Draft } from "./model/draft";
import { drawsNumbers, otherSeed } from "./model/chance";
import { carriesPair, carriesProgram, linkTo, readLink } from "./model/link";
import { plain, sameProgram, type DeviceChoice, type Program } from "./model/program";
import { Problem } from "./model/run";
import type { Compared } from "./model/unobserved";
import type { Contender } from "./compare/bench";
import { Comparing } from "./compare/entry";
import { FEATURES } from "./features";
import { pageMessages, setUpFrame } from "./page";
import { Player, type StepChange } from "./player";
import { Address } from "./playground/address";
import { Editing } from "./playground/editing";
import { fixButton } from "./playground/fix-button";
import { givenExamples, givenLimits, type Example } from "./playground/given";
import { Header } from "./playground/header";
import { Notice } from "./playground/notice";
import { Runs, type Going, type Ran } from "./playground/runs";
import { Skeleton } from "./playground/skeleton";
import { showView, viewOf } from "./playground/view";
import type { Comparison, Trace } from "./schema/trace.gen";
import { el } from "./views/dom";
import { WORKBENCH } from "./workbench";

class Playground {
  private readonly messages = pageMessages();
  private readonly examples = givenExamples();
  private readonly limits = givenLimits();
  private readonly player: Player;
  private readonly editing: Editing;
  private readonly header: Header;
  private readonly notice = new Notice(this.messages);
  private readonly runs: Runs;
  private readonly address: Address;
  private readonly comparing: Comparing;
  private readonly again = el("button", { type: "button", class: "small-button", hidden: true });
  /** The example whose recorded trace is shown; null when the program is the reader's. */
  private example: Example | null = null;
  /** What the trace that is shown is of. */
  private shown: Program = plain("");
  private readonly stage = el("div", { class: "playground" });
  private readonly arena = el("div");
  /** The address whose open view is to be shown with the next trace. */
  private asked: string | null = null;
  private view = "";
  private readonly skeleton = new Skeleton(this.messages);

  constructor(private readonly place: HTMLElement) {
    const { arena } = this;
    this.stage.append(this.notice.element, arena);
    this.player = new Player(arena, this.messages, {
      arrangement: WORKBENCH,
      keys: "page",
      figures: ["memory", "devices", "graph"],
      code: true,
      controls: true,
      features: [...FEATURES, ...(this.limits.run ? [fixButton((mended) => void this.compareWith(mended))] : []), () => ({ show: () => undefined, keys: [["Ctrl ↵", "run"]] })],
    });
    this.again.textContent = this.say("ui.run.again");
    this.again.title = this.say("ui.run.again-title");
    this.again.addEventListener("click", () => void this.runAgain());
    this.player.tools.page.append(this.again);
    this.editing = new Editing(this.messages, this.player, { edited: () => this.edited(), wantsSteps: () => this.wantsSteps() });
    this.header = new Header(this.messages, this.examples, this.limits, {
      run: () => void this.runEditor(),
      cancel: () => this.runs.cancel(),
      choose: (example) => void this.choose(example),
      device: (device) => void this.chooseDevice(device),
      compare: () => void this.compare(),
      share: () => void this.share(),
    });
    this.runs = new Runs((going) => this.wait(going));
    this.address = new Address(() => ({ program: this.written, step: this.player.step, view: viewOf(arena, this.player), ran: !this.changed, example: this.example }));
    this.comparing = new Comparing(this.messages, this.limits, this.stage, {
      close: (left, step) => this.leaveComparison(left, step),
      share: (hash) => void this.sharePair(hash),
    });
    for (const name of ["pick", "click", "keyup"]) arena.addEventListener(name, () => this.viewed());
    arena.addEventListener("step-changed", (event) => this.address.stepped((event as CustomEvent<StepChange>).detail.jump));
    document.addEventListener("keydown", (event) => this.key(event));
    addEventListener("popstate", () => void this.follow());
  }

  /** What the reader has written, to be run as what is shown was. */
  private get written(): Program {
    return { ...this.shown, source: this.editing.source };
  }

  /** What was open where the address comes from, once there is a trace to show. */
  private showAsked(): void {
    const { asked } = this;
    this.asked = null;
    if (asked !== null) showView(asked, this.arena, this.player);
  }

  private placeAt(step: number | null): void {
    this.player.place(step ?? this.player.steps);
    this.showAsked();
  }

  /** Only what changes what is open is worth an address: pointing goes on and on. */
  private viewed(): void {
    if (this.player.trace === null || this.runs.busy) return;
    const now = viewOf(this.arena, this.player);
    if (now === this.view) return;
    this.view = now;
    this.address.viewed();
  }

  private get changed(): boolean {
    return this.editing.source !== this.shown.source;
  }

  private say(id: string, args: Record<string, unknown> = {}): string {
    return this.messages.text(id, args);
  }

  /**
   * Shows what the address asks for: a program after the hash, else the example of the page. What the
   * reader wrote here before and the address does not hold yet comes back too.
   */
  async start(): Promise<void> {
    this.asked = location.hash;
    if (carriesPair(location.hash)) {
      await this.follow();
      return;
    }
    const draft = draftFor(placeOf(location));
    if (draft !== null && (draft.ran || carriesProgram(location.hash))) {
      const { step } = await readLink(location.hash);
      await this.showOwn(draft, step);
      return;
    }
    if (carriesProgram(location.hash)) {
      await this.follow();
      return;
    }
    await this.showFirst(draft);
  }

  private async showFirst(draft: Draft | null): Promise<void> {
    const src = this.place.getAttribute("src");
    const { step } = await readLink(location.hash);
    await this.showRecorded(this.examples.find((each) => each.src === src) ?? null, src, step);
    if (draft === null) return;
    this.showSource(draft.source);
    this.edited();
  }

  // ---- what is shown

  private async showOwn({ source, seed, device }: Program, step: number | null): Promise<void> {
    this.showSource(source);
    this.shown = { ...this.shown, seed, device };
    this.header.device(device, null);
    if (this.limits.ask) this.complain(new Problem("press-run", ""));
    else if (this.limits.run) await this.run({ source, seed, device }, step ?? Number.MAX_SAFE_INTEGER);
    else this.complain(new Problem("sandbox-unavailable", this.limits.reason ?? ""));
  }

  private async showRecorded(example: Example | null, src: string | null, step: number | null): Promise<void> {
    try {
      const response = await fetch(src ?? "");
      if (src === null || !response.ok) throw new Problem("unreachable", "");
      const trace = (await response.json()) as Trace;
      this.show(trace, step, { ...plain(trace.source), seed: trace.environment.seed ?? 0 }, example);
      this.header.tell(this.say("ui.run.recorded", this.facts()));
    } catch {
      if (example !== null && this.limits.run) await this.run(plain(example.source), step);
      else this.complain(new Problem("unreachable", ""), () => void this.showRecorded(example, src, step));
    }
  }

  private show(trace: Trace, step: number | null, program: Program, example: Example | null): void {
    if (!this.stage.isConnected) this.place.replaceWith(this.stage);
    this.example = example;
    this.shown = { ...program, source: trace.source };
    this.again.hidden = !this.limits.run || !drawsNumbers(trace);
    this.header.mark(example);
    this.header.device(program.device, trace.environment);
    this.player.load(trace, step ?? trace.steps.length);
    this.showAsked();
    this.editing.source = trace.source;
    this.editing.open(false);
    this.notice.over();
  }

  /** Shows a program that has not run here yet, and may never: Run can be off, or every sandbox busy. */
  private showSource(source: string): void {
    this.editing.source = source;
    if (this.player.trace !== null) {
      this.editing.open(true);
      return;
    }
    if (!this.stage.isConnected) this.place.replaceWith(this.stage);
    this.header.mark(null);
    this.editing.openAlone(this.stage);
  }

  private facts(): Record<string, unknown> {
    const trace = this.player.trace;
    const device = trace?.environment.simulated === true ? "simulated" : "real";
    return { steps: trace?.steps.length ?? 0, torch: trace?.environment.torch.split("+")[0] ?? "", device };
  }

  private complain(problem: Problem, retry: (() => void) | null = null): void {
    if (!this.stage.isConnected) this.place.before(this.notice.element);
    this.notice.show(problem, retry);
    this.header.tell("");
  }

  // ---- running

  private async runEditor(): Promise<void> {
    if (this.limits.run) await this.run(this.written, null);
    else this.complain(new Problem("sandbox-unavailable", this.limits.reason ?? ""));
  }

  /** The program that is shown, with other random numbers, at the step that is shown. */
  private async runAgain(): Promise<void> {
    if (this.runs.busy) return;
    await this.run({ ...this.shown, seed: otherSeed(this.shown.seed) }, this.player.step);
    this.again.focus();
  }

  private async run(program: Program, step: number | null): Promise<void> {
    this.notice.hide();
    await this.runs.run(program, {
      ran: ({ trace, seconds }) => {
        this.show(trace, step, program, null);
        this.done(seconds, trace.comparison.state);
        void this.address.write(step === null ? "push" : "replace");
      },
      compared: (result, compared) => this.compared(result, compared),
      failed: (problem) => this.complain(problem, () => void this.run(program, step)),
      cancelled: () => this.header.tell(this.say(this.player.trace === null ? "ui.run.cancelled-first" : "ui.run.cancelled")),
    });
  }

  private wait(going: Going | null): void {
    this.header.waiting(going);
    this.skeleton.show(this.player.trace === null ? going : null, this.stage);
  }

  /** Says that a run is over, and whether the program ends alike when nobody watches. */
  private done(seconds: string, state: Comparison["state"]): void {
    const compared = this.say("ui.run.compared", { state });
    this.header.tell(`${this.say("ui.run.done", { ...this.facts(), seconds })} · ${compared}`);
  }

  /** The unobserved run has ended; the reader may have gone on to another program meanwhile. */
  private compared({ trace, seconds }: Ran, result: Compared): void {
    if (this.player.trace?.source !== trace.source || this.player.trace.comparison.state !== "pending") return;
    this.player.compare(result);
    if (!this.changed && !this.runs.busy) this.done(seconds, result.comparison.state);
  }

  // ---- what the reader does

  private edited(): void {
    this.header.tell(this.changed ? this.say("ui.editor.edited") : "");
    this.address.edited();
  }

  private wantsSteps(): void {
    if (this.changed && this.limits.run) void this.runEditor();
    else this.editing.open(false);
  }

  private key(event: KeyboardEvent): void {
    if (this.comparing.open || event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.defaultPrevented) return;
    event.preventDefault();
    void this.runEditor();
  }

  private async choose(example: Example): Promise<void> {
    this.address.goTo(example);
    await this.showRecorded(example, example.src, null);
  }

  /** Shows what the address says now, after Back, Forward or an edit by hand. */
  private async follow(): Promise<void> {
    this.asked = location.hash;
    if (carriesPair(location.hash)) {
      if (!this.stage.isConnected && !this.comparing.open) this.place.replaceWith(this.stage);
      if (!(await this.comparing.follow(location.hash))) this.complain(new Problem("unreadable-link", ""));
      return;
    }
    this.comparing.close();
    const { source, step, seed, device } = await readLink(location.hash);
    if (!carriesProgram(location.hash)) {
      const wanted = new URLSearchParams(location.search).get("example");
      const example = this.examples.find((each) => each.id === wanted) ?? this.examples[0] ?? null;
      if (example !== null && this.example === example) this.placeAt(step);
      else await this.showRecorded(example, example?.src ?? null, step);
    } else if (source === null) {
      const example = this.examples[0] ?? null;
      if (this.player.trace === null && example !== null) await this.showRecorded(example, example.src, null);
      this.complain(new Problem("unreadable-link", ""));
    } else if (this.player.trace !== null && sameProgram({ source, seed, device }, this.shown)) this.placeAt(step);
    else await this.showOwn({ source, seed, device }, step);
  }

  private async chooseDevice(device: DeviceChoice): Promise<void> {
    if (this.limits.run) await this.run({ ...this.written, device }, this.changed ? null : this.player.step);
    else {
      this.header.device(this.shown.device, this.player.trace?.environment ?? null);
      this.complain(new Problem("sandbox-unavailable", this.limits.reason ?? ""));
    }
  }

  private async compare(): Promise<void> {
    const shown = { program: this.player.trace === null ? this.written : this.shown, trace: this.player.trace };
    await this.comparing.ask(this.player, shown, this.editing.source);
  }

  /** What is shown, beside itself with one change. */
  private async compareWith(source: string): Promise<void> {
    const left = { program: this.shown, trace: this.player.trace };
    await this.comparing.show({ left, right: { program: { ...this.shown, source }, trace: null }, row: null, edit: false, fix: true }, "push");
  }

  /** Shows the left program of a comparison alone. */
  private leaveComparison({ program, trace }: Contender, step: number): void {
    this.comparing.close();
    if (trace === null) this.showSource(program.source);
    else if (trace.source === this.player.trace?.source && sameProgram(program, this.shown)) this.player.place(step);
    else this.show(trace, step, program, null);
    if (trace !== null) void this.address.write("push");
  }

  /** The link, the lines, the pictures and the data of what is shown. */
  private async share(): Promise<void> {
    const { example, written, changed, player } = this;
    const { openShareSheet } = await import("./share/sheet");
    const hash = await linkTo(written, player.step);
    const view = changed ? "" : viewOf(this.arena, player);
    const page = new URL("/playground", location.href);
    page.searchParams.set("lang", this.messages.language.slice(0, 2));
    // An example as it is has a recorded trace, which needs no run where it is embedded.
    const key = changed ? null : (example?.key ?? null);
    const frame = new URL(key === null ? "/embed/v1/" : `/embed/v1/${key}`, location.href);
    if (key === null) frame.hash = hash;
    else frame.searchParams.set("step", String(player.step));
    const title = example?.title ?? this.say("ui.share.frame-title");
    const link = page.href + hash + view;
    openShareSheet(this.messages, {
      link, embed: { frame: frame.href, page: link, title }, title, player: changed ? null : player, program: written, runs: this.limits.run,
    });
  }

  private async sharePair(hash: string): Promise<void> {
    const { openShareSheet } = await import("./share/sheet");
    const page = new URL("/playground", location.href);
    page.searchParams.set("lang", this.messages.language.slice(0, 2));
    openShareSheet(this.messages, { link: page.href + hash, embed: null, title: "", player: null, program: null, runs: false });
  }
}

setUpFrame();
const place = document.getElementById("player");
if (place !== null) void new Playground(place).start();
