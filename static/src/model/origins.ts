/**
 * What made a tensor that has no name: the piece of the program, or the call of PyTorch inside it.
 *
 * Twin of `app/schema/origins.py`. Read off the ops of a trace; an op whose output the next op of the same
 * piece takes in did not give that piece its value.
 */
import type { SourceRange, Step, Trace } from "../schema/trace.gen";
import type { Origin } from "./state";

type OpCall = Extract<Step["events"][number], { kind: "op" }>;

/** Saving an output for backward makes another tensor of it, which the reader did not ask for. */
const SAVING = "aten::detach";
const LONGEST = 40;
const FARTHEST = 400;

export class Origins {
  private readonly ops: { readonly call: OpCall; readonly line: number; readonly step: number }[] = [];
  private readonly made = new Map<number, number>();
  private readonly known = new Map<number, Origin | null>();
  private readonly lines: readonly string[];

  constructor(private readonly trace: Trace) {
    this.lines = trace.source.split(/\r\n|[\n\r\f\v\x1c-\x1e\x85\u2028\u2029]/);
    trace.steps.forEach((each, step) => {
      const line = trace.statements[each.statement]?.range.line ?? 0;
      for (const event of each.events) {
        if (event.kind !== "op") continue;
        for (const output of event.outputs) {
          if (!event.inputs.includes(output) && !this.made.has(output)) this.made.set(output, this.ops.length);
        }
        this.ops.push({ call: event, line, step });
      }
    });
  }

  /** The origin of a tensor; null when no op that is told of made it. */
  of(tensor: number | null): Origin | null {
    if (tensor === null) return null;
    let origin = this.known.get(tensor);
    if (origin === undefined) this.known.set(tensor, (origin = this.find(tensor)));
    return origin;
  }

  private find(tensor: number): Origin | null {
    const number = this.made.get(tensor);
    const made = number === undefined ? undefined : this.ops[number];
    const site = made === undefined ? undefined : this.trace.sites[made.call.site];
    if (number === undefined || made === undefined || site === undefined) return null;
    const { names, ranges } = this.trace;
    const api = site.api === null ? "" : (names[site.api] ?? "");
    const [source] = made.call.inputs;
    if (names[site.op] === SAVING && api !== "detach" && source !== undefined) return this.of(source);
    if (site.node !== null) return { kind: "backward", code: names[site.node] ?? "", line: made.line, api: "" };
    const place = site.range === null ? undefined : ranges[site.range];
    if (place === undefined || site.range === null) return null;
    const inside = api !== "" && this.isTakenIn(tensor, number, site.range);
    return { kind: inside ? "inside" : "result", code: this.text(place), line: place.line, api };
  }

  /** An op of the same piece of the program, and of the same execution of it, takes the tensor in. */
  private isTakenIn(tensor: number, number: number, place: number): boolean {
    for (const { call, step } of this.ops.slice(number + 1, number + FARTHEST)) {
      const site = this.trace.sites[call.site];
      if (site?.range !== place || step !== this.ops[number]?.step) return false;
      if (call.inputs.includes(tensor) && this.trace.names[site.op] !== SAVING) return true;
    }
    return false;
  }

  private text(place: SourceRange): string {
    const lines = this.lines.slice(place.line - 1, place.end_line).map((line) => [...line]);
    const last = lines.at(-1);
    if (last === undefined) return "?";
    lines[lines.length - 1] = last.slice(0, place.end_column);
    lines[0] = (lines[0] ?? []).slice(place.column);
    const text = [...lines.map((line) => line.join("")).join(" ").trim().split(/\s+/).join(" ")];
    return text.length <= LONGEST ? text.join("") : `${text.slice(0, LONGEST - 1).join("")}…`;
  }
}
