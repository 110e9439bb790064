/**
 * The address of the playground: it always holds the program and the step, so that it can be sent, and
 * Back works. The browser keeps the reader's program as well, for as long as its tab is open.
 */
import { keepDraft, placeOf } from "../model/draft";
import { linkTo } from "../model/link";
import { sameProgram, type Program } from "../model/program";
import type { Example } from "./given";

/** What the reader has before them. */
export interface Shown {
  readonly program: Program;
  readonly step: number;
  /** What is open beside it, as the end of a hash. */
  readonly view: string;
  /** It has run as it is. */
  readonly ran: boolean;
  /** The example whose recorded trace is shown as it is; null when the program is the reader's. */
  readonly example: Example | null;
}

const KEEP_STEP_MS = 150;
const KEEP_EDITS_MS = 800;

export class Address {
  private saving: ReturnType<typeof setTimeout> | undefined;
  /** The program of the last address: packing it takes longer than a step. */
  private linked: { readonly program: Program; readonly hash: Promise<string> } | null = null;

  constructor(private readonly shown: () => Shown) {}

  /** A held arrow key takes many steps: the address needs the last of them. */
  stepped(jump: boolean): void {
    if (jump) void this.write("push");
    else this.writeSoon(KEEP_STEP_MS);
  }

  /** Something beside the program and the step was opened, closed or pointed at. */
  viewed(): void {
    this.writeSoon(KEEP_EDITS_MS);
  }

  /** The program is kept at once, the address follows. */
  edited(): void {
    this.keep();
    this.writeSoon(KEEP_EDITS_MS);
  }

  /** Puts program and step into the address. */
  async write(how: "push" | "replace"): Promise<void> {
    clearTimeout(this.saving);
    const { program, step, ran, example, view } = this.shown();
    const hash = (example === null || !ran ? `${await this.packed(program)}&step=${step}` : `#step=${step}`) + view;
    if (hash === location.hash) return;
    if (how === "push") history.pushState(null, "", hash);
    else history.replaceState(null, "", hash);
    this.keep();
  }

  /** Goes to an example's own address, and forgets what the reader wrote. */
  goTo(example: Example): void {
    clearTimeout(this.saving);
    keepDraft(null);
    const address = new URL(location.href);
    address.searchParams.delete("program");
    address.searchParams.set("example", example.id);
    address.hash = "";
    history.pushState(null, "", address);
  }

  private packed(program: Program): Promise<string> {
    if (this.linked === null || !sameProgram(this.linked.program, program)) this.linked = { program, hash: linkTo(program, null) };
    return this.linked.hash;
  }

  private writeSoon(ms: number): void {
    clearTimeout(this.saving);
    this.saving = setTimeout(() => void this.write("replace"), ms);
  }

  private keep(): void {
    const { program, ran, example } = this.shown();
    keepDraft(example !== null && ran ? null : { ...program, ran, place: placeOf(location) });
  }
}
