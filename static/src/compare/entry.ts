/** The way of the playground into two programs side by side, and back. What is heavy is loaded when first asked for. */
import { fixesOf } from "../model/fix";
import type { Messages } from "../model/messages";
import type { Player } from "../player";
import type { Bench, BenchHooks, Contender, Wanted } from "./bench";
import type { Limits } from "../playground/given";
import { styled } from "../styles";
import { worded } from "../words-later";

export class Comparing {
  private bench: Bench | null = null;

  constructor(
    private readonly messages: Messages,
    private readonly limits: Limits,
    private readonly stage: HTMLElement,
    private readonly hooks: BenchHooks,
  ) {}

  /** Two programs are shown. */
  get open(): boolean {
    return this.bench !== null;
  }

  /** Asks what to compare with. */
  async ask(player: Player, shown: Contender, written: string): Promise<void> {
    const [{ openChooser }] = await Promise.all([import("./chooser"), styled("compare"), worded(this.messages)]);
    const fixes = player.trace === null ? [] : fixesOf(player.trace);
    openChooser(this.messages, { shown, written, fixes, devices: this.limits.devices, run: this.limits.run }, (choice) => {
      void this.show({ ...choice, row: null }, "push");
    });
  }

  /** Shows two programs in place of the one. */
  async show(wanted: Wanted, how: "push" | "stay"): Promise<void> {
    const [{ Bench }, { linkToPair }] = await Promise.all([import("./bench"), import("../model/pair-link"), styled("compare"), worded(this.messages)]);
    if (how === "push") history.pushState(null, "", await linkToPair(wanted.left.program, wanted.right.program, wanted.row));
    this.close();
    this.bench = new Bench(this.messages, this.limits, wanted, this.hooks);
    document.body.classList.add("comparing");
    this.stage.replaceWith(this.bench.element);
    this.bench.element.querySelector<HTMLElement>("h2")?.focus();
  }

  /** Follows an address with two programs. True when it can be read. */
  async follow(hash: string): Promise<boolean> {
    const { readPair } = await import("../model/pair-link");
    const link = await readPair(hash);
    if (link === null) return false;
    const { left, right, row } = link;
    if (this.bench?.shows(left, right) === true) this.bench.go(row ?? 1);
    else await this.show({ left: { program: left, trace: null }, right: { program: right, trace: null }, row, edit: false, fix: false }, "stay");
    return true;
  }

  /** Puts the one program back in its place. */
  close(): void {
    if (this.bench === null) return;
    this.bench.close();
    this.bench.element.replaceWith(this.stage);
    this.bench = null;
    document.body.classList.remove("comparing");
  }
}
