/** The run as rows of text: nothing is silent, filters keep what they say, files can be read back. */
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import en from "../../app/messages/en.json";
import zh from "../../app/messages/zh.json";
import { kept, rowsOf, written, type Filter } from "../../static/src/features/text-rows";
import { Messages } from "../../static/src/model/messages";
import { outlineOf } from "../../static/src/model/outline";
import type { Trace } from "../../static/src/schema/trace.gen";

const FOLDER = "app/lessons/recorded";
const TRACES = readdirSync(FOLDER).filter((name) => name.endsWith(".json"))
  .map((name) => JSON.parse(readFileSync(join(FOLDER, name), "utf8")) as Trace);
const LANGUAGES = [new Messages("en", en), new Messages("zh", zh)];
const ALL: Filter = { layers: new Set(), line: null, text: "" };

const failing = TRACES.find((trace) => trace.source.includes("z.mul_(10)"));
if (failing === undefined) throw new Error("no recorded example fails");
const rows = rowsOf(failing, outlineOf(failing), new Messages("en", en));

/** Reads CSV as RFC 4180 has it. */
function parseCsv(text: string): string[][] {
  const table: string[][] = [[""]];
  for (let at = 0, quoted = false; at < text.length; at += 1) {
    const row = table.at(-1) ?? [];
    const char = text[at] ?? "";
    if (char === '"' && quoted && text[at + 1] === '"') (row[row.length - 1] = `${row.at(-1) ?? ""}"`), (at += 1);
    else if (char === '"') quoted = !quoted;
    else if (char === "," && !quoted) row.push("");
    else if (char === "\r" && !quoted) table.push([""]), (at += 1);
    else row[row.length - 1] = `${row.at(-1) ?? ""}${char}`;
  }
  return table.slice(0, -1);
}

test("every step of every recorded run says something of each of the four layers, in both languages", () => {
  for (const messages of LANGUAGES) {
    for (const trace of TRACES) {
      const told = rowsOf(trace, outlineOf(trace), messages);
      assert.equal(told.length, trace.steps.length);
      for (const row of told) {
        assert.equal(row.layers.length, 4);
        for (const words of row.layers) assert.match(words, /[.。:：]$/u);
        assert.doesNotMatch([...row.layers, ...row.remarks].join(" "), /\{[a-z_]+\}|undefined|null/);
      }
    }
  }
});

test("a filter keeps the steps that touched a layer, ran a line, or say a word", () => {
  const data = kept(rows, { ...ALL, layers: new Set(["data"]) });
  assert.ok(data.length > 0 && data.length < rows.length);
  assert.ok(data.every(({ step }) => step.lamps.includes("data")));
  assert.deepEqual(kept(rows, { ...ALL, line: 7 }).map(({ step }) => step.text), ["z.mul_(10)"]);
  assert.deepEqual(kept(rows, { ...ALL, text: "  OVERWRITTEN " }).map(({ step }) => step.line), [7]);
  assert.equal(kept(rows, ALL).length, rows.length);
  assert.equal(kept(rows, { ...ALL, text: "no such words" }).length, 0);
});

test("the table reads back from CSV as it is shown", () => {
  const [header, ...cells] = parseCsv(written(rows, "csv", new Messages("en", en)));
  assert.deepEqual(header, ["Step", "Line", "Code", "Data", "Metadata", "Autograd", "Device", "Remarks", "Output"]);
  assert.deepEqual(cells.map((row) => row.slice(0, 7)), rows.map(({ step, layers }) => [String(step.number), String(step.line), step.text, ...layers]));
});

test("what would be a formula in a spreadsheet is a word, and a number stays a number", () => {
  const [first] = rows;
  if (first === undefined) throw new Error("no rows");
  const cell = (output: string): string | undefined => parseCsv(written([{ ...first, output }], "csv", new Messages("en", en)))[1]?.at(-1);
  assert.equal(cell("=1+1"), "'=1+1");
  assert.equal(cell("-0.5"), "-0.5");
  assert.equal(cell("+1e-05"), "+1e-05");
  assert.equal(cell("-2+3+cmd|' /C calc'!A0"), "'-2+3+cmd|' /C calc'!A0");
  assert.equal(cell('say "a, b"\n'), 'say "a, b"');
});

test("a row of Markdown is one line with as many cells as the header", () => {
  const lines = written(rows, "markdown", new Messages("zh", zh)).trimEnd().split("\n");
  assert.equal(lines.length, rows.length + 2);
  for (const line of lines) assert.equal(line.match(/(?<!\\)\|/g)?.length, 10);
});

test("what a program prints is no link or picture in Markdown", () => {
  const [first] = rows;
  if (first === undefined) throw new Error("no rows");
  const text = written([{ ...first, output: "![x](https://example.org/seen)" }], "markdown", new Messages("en", en));
  assert.ok(text.includes("!\\[x\\](https://example.org/seen)"));
});

test("plain text has a paragraph per step that marks the layers it touched", () => {
  const paragraphs = written(rows, "text", new Messages("en", en)).trimEnd().split("\n\n");
  assert.equal(paragraphs.length, rows.length);
  assert.match(paragraphs[6] ?? "", /^Step 7, line 7: z\.mul_\(10\)\n\* Data: 4 of 12 values .*\n {2}Metadata: No change.*\n\* Autograd: /);
});
