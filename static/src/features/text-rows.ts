/**
 * A run as rows of plain text: step, line, code, a cell per layer, remarks, output.
 *
 * Pure: which rows a filter keeps, and how they are written as text, CSV and Markdown. `text-sheet.ts` shows
 * them.
 */
import { together, type Messages } from "../model/messages";
import type { Outline, StepOutline } from "../model/outline";
import { LAYERS, type Layer } from "../model/state";
import { toldOf, type Told } from "../model/told";
import type { Sentence, Trace } from "../schema/trace.gen";

export interface Row {
  readonly step: StepOutline;
  readonly told: Told;
  /** What is said of each layer, in the order of `LAYERS`. */
  readonly layers: readonly string[];
  /** Why it failed, what its names did, what was noticed. */
  readonly remarks: readonly string[];
  /** What it printed itself. */
  readonly output: string;
}

export interface Filter {
  /** Steps that touched any of these; all steps when empty. */
  readonly layers: ReadonlySet<Layer>;
  readonly line: number | null;
  readonly text: string;
}

export const FORMATS = ["text", "csv", "markdown"] as const;
export type Format = (typeof FORMATS)[number];
export const EXTENSIONS: Readonly<Record<Format, string>> = { text: "txt", csv: "csv", markdown: "md" };

/** The rows of a trace, in the words of a language. */
export function rowsOf(trace: Trace, outline: Outline, messages: Messages): readonly Row[] {
  const known = new Map<Sentence, string>();
  const say = (sentence: Sentence): string => {
    let words = known.get(sentence);
    if (words === undefined) known.set(sentence, (words = messages.text(sentence.id, sentence.args)));
    return words;
  };
  const none = messages.text("ui.changes.none");
  return outline.steps.map((step, index) => {
    const told = toldOf(trace, outline, step.number);
    const printed = trace.steps[index]?.events.flatMap((event) => (event.kind === "stdout" ? [event.text] : [])) ?? [];
    return {
      step,
      told,
      layers: told.layers.map(({ sentences }) => together(sentences.map(say)) || none),
      remarks: [...told.error, ...told.compiled, ...told.names, ...told.notes].map(say),
      output: printed.join(""),
    };
  });
}

/** The rows that a filter keeps. */
export function kept(rows: readonly Row[], { layers, line, text }: Filter): readonly Row[] {
  const wanted = text.trim().toLowerCase();
  return rows.filter((row) => {
    if (layers.size > 0 && !row.step.lamps.some((layer) => layers.has(layer))) return false;
    if (line !== null && row.step.line !== line) return false;
    if (wanted === "") return true;
    const all = [row.step.text, ...row.layers, ...row.remarks, row.output];
    return all.some((each) => each.toLowerCase().includes(wanted));
  });
}

/** Rows as a file of a format. */
export function written(rows: readonly Row[], format: Format, messages: Messages): string {
  if (format === "text") return `${rows.map((row) => paragraph(row, messages)).join("\n\n")}\n`;
  const names = ["step", "line", "code"].map((id) => messages.text(`ui.text.${id}`));
  const layers = LAYERS.map((layer) => messages.text(`ui.layer.${layer}`));
  const header = [...names, ...layers, messages.text("ui.text.remarks"), messages.text("ui.changes.output")];
  const cells = rows.map((row) => [
    String(row.step.number),
    String(row.step.line),
    row.step.text,
    ...row.layers,
    together(row.remarks),
    row.output.trimEnd(),
  ]);
  if (format === "csv") return [header, ...cells].map((each) => `${each.map(csvCell).join(",")}\r\n`).join("");
  const lines = [header, header.map(() => "---"), ...cells.map((each) => each.map(markdownCell))];
  return `${lines.map((each) => `| ${each.join(" | ")} |`).join("\n")}\n`;
}

function paragraph(row: Row, messages: Messages): string {
  const { number, line, text } = row.step;
  const lines = [messages.text("ui.step.tip", { step: number, line, text })];
  LAYERS.forEach((layer, i) => {
    const mark = row.step.lamps.includes(layer) ? "*" : " ";
    lines.push(`${mark} ${messages.text("list.label", { label: messages.text(`ui.layer.${layer}`), text: row.layers[i] ?? "" })}`);
  });
  for (const remark of row.remarks) lines.push(`! ${remark}`);
  for (const printed of row.output.trimEnd().split("\n")) if (printed !== "") lines.push(`> ${printed}`);
  return lines.join("\n");
}

/** A spreadsheet takes what begins like this for a formula; a sign before a number, and nothing else, is a number. */
const FORMULA = /^(?:[=@\t\r\n]|[+-](?!(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$))/i;

function csvCell(text: string): string {
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function markdownCell(text: string): string {
  return text.replace(/[\\|`*_<[\]]/g, "\\$&").replace(/\r?\n/g, "<br>");
}
