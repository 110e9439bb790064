/** Two runs side by side, told from the traces of real programs. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fixesOf } from "../../static/src/model/fix";
import { Messages, type Catalogue } from "../../static/src/model/messages";
import { Pair } from "../../static/src/compare/pair";
import type { Trace } from "../../static/src/schema/trace.gen";
import { atMost } from "./effort";
import { traced } from "./traced";

const IN_PLACE = "import torch\nw = torch.ones(3, requires_grad=True)\ny = w.exp()\ns = y.sum()\ny.add_(1)\ns.backward()\n";
const LOOP = (times: number): string => `import torch\nx = torch.zeros(2)\nfor i in range(${times}):\n    x = x + 1\n    x = x * 2\ny = x\n`;
const LOSS = (added: string): string => `import torch\nw = torch.ones(4, requires_grad=True)\ntotal = 0\nfor i in range(2):\n    loss = (w * i).pow(2).sum()\n    total = total + ${added}\ndel loss\n`;
const CUDA = "import torch\nx = torch.ones(2).to('cuda' if torch.cuda.is_available() else 'cpu')\ny = x * 2\n";
const SOURCES = {
  view: ["import torch\nx = torch.arange(6.).reshape(2, 3)\nz = x.t()\ny = z.reshape(6)\ny[0] = 9\n", "cpu"],
  viewed: ["import torch\nx = torch.arange(6.).reshape(2, 3)\nz = x\ny = z.reshape(6)\ny[0] = 9\n", "cpu"],
  clone: ["import torch\nx = torch.ones(2, requires_grad=True)\ny = x.clone()\n", "cpu"],
  detach: ["import torch\nx = torch.ones(2, requires_grad=True)\ny = x.detach()\n", "cpu"],
  inPlace: [IN_PLACE, "cpu"],
  outOfPlace: [IN_PLACE.replace("y.add_(1)", "y = y.add(1)"), "cpu"],
  three: [LOOP(3), "cpu"],
  five: [LOOP(5), "cpu"],
  many: [LOOP(700), "cpu"],
  more: [LOOP(900), "cpu"],
  host: [CUDA, "cpu"],
  device: [CUDA, "simulated-cuda"],
  strided: ["import torch\nx = torch.arange(6.).reshape(2, 3).t()\ny = x.view(6)  # flat\n", "cpu"],
  mended: ["import torch\nx = torch.arange(6.).reshape(2, 3).t()\ny = x.reshape(6)  # flat\n", "cpu"],
  losses: [LOSS("loss"), "cpu"],
  numbers: [LOSS("loss.item()"), "cpu"],
  grads: ["import torch\nw = torch.ones(2, requires_grad=True)\nl = (w * 2).sum()\nl.backward()\n", "cpu"],
  noGrads: ["import torch\nw = torch.ones(2, requires_grad=True)\nl = (w * 2).sum()\nprint(l.item())\n", "cpu"],
} as const;
const names = Object.keys(SOURCES) as (keyof typeof SOURCES)[];
const traces = new Map(traced(names.map((each) => SOURCES[each])).map((trace, i) => [names[i], trace]));
const trace = (name: keyof typeof SOURCES): Trace => traces.get(name) as Trace;
const pair = (left: keyof typeof SOURCES, right: keyof typeof SOURCES): Pair => new Pair({ left: trace(left), right: trace(right) });
const en = new Messages("en", JSON.parse(readFileSync("app/messages/en.json", "utf8")) as Catalogue);
const said = (sentences: readonly { id: string; args: Readonly<Record<string, unknown>> }[]): string => sentences.map(({ id, args }) => en.text(id, args)).join(" ");

test("a program beside itself differs nowhere", () => {
  const both = pair("inPlace", "inPlace");
  assert.equal(both.parting(), null);
  assert.equal(both.rows.length, 6);
  assert.match(said(both.summary()), /^Every step leaves the same on both sides\. Both end with RuntimeError\.$/);
});

test("a clone parts from a detach where it is made: another storage, and a node", () => {
  const both = pair("clone", "detach");
  assert.equal(both.parting(), 3);
  assert.deepEqual(both.layers(3), ["data", "autograd"]);
  const text = said(both.differences(3));
  assert.match(text, /y shares x's storage on the right, not on the left/);
  assert.match(text, /y\.grad_fn is CloneBackward0 on the left, None on the right/);
  assert.match(text, /y\.requires_grad is True on the left, False on the right/);
  assert.match(said(both.summary()), /^Same until line 3\. Then y shares x's storage on the right/);
});

test("a reshape that views and one that copies part by who shares, then by what a write reaches", () => {
  const both = pair("view", "viewed");
  assert.equal(both.parting(), 3);
  assert.match(said(both.fresh(3)), /z\.shape is \(3, 2\) on the left, \(2, 3\) on the right/);
  assert.match(said(both.fresh(4)), /y shares (z|x)'s storage on the right, not on the left/);
  assert.match(said(both.fresh(5)), /x: 1 of 6 values differs; the first is x\[0, 0\]: 0 on the left, 9 on the right/);
  assert.equal(both.next(0), 3);
  assert.equal(both.next(3, "data"), 4);
  assert.equal(both.next(5), null);
});

test("a write in place leaves a stale saved tensor on one side, and one side fails", () => {
  const both = pair("inPlace", "outOfPlace");
  assert.equal(both.parting(), 5);
  assert.match(said(both.differences(5)), /ExpBackward0 of line 3 holds a saved tensor that was changed since, on the left only/);
  assert.match(said(both.summary()), /The left ends with RuntimeError on line 6, the right runs to its end\.$/);
});

test("what an explanation offers is applied to the line it names, and then it runs", () => {
  assert.equal(fixesOf(trace("inPlace"))[0]?.source, trace("outOfPlace").source);
  assert.deepEqual(fixesOf(trace("outOfPlace")), []);
  assert.equal(trace("outOfPlace").outcome.kind, "finished");
  assert.equal(fixesOf(trace("strided"))[0]?.source, trace("mended").source);
  assert.equal(trace("mended").outcome.kind, "finished");
});

test("loops align pass by pass, and the passes that only one has stand alone", () => {
  const both = pair("three", "five");
  const passes = both.rows.map(({ left, right }) => `${left === null ? "-" : both.outlines.left.steps[left - 1]?.pass}:${right === null ? "-" : both.outlines.right.steps[right - 1]?.pass}`);
  // import, x, three rounds of for and two lines, then what differs, then the last look at the loop, y
  assert.deepEqual(passes.slice(0, 11), ["1:1", "1:1", "1:1", "1:1", "1:1", "2:2", "2:2", "2:2", "3:3", "3:3", "3:3"]);
  assert.equal(both.rows.filter(({ left }) => left === null).length, 6);
  assert.equal(both.rows.at(-1)?.left, trace("three").steps.length);
  assert.equal(both.rows.at(-1)?.right, trace("five").steps.length);
});

test("every step stands in one row, folded loops included, and rows of a thousand steps take little work", () => {
  const both = atMost(100, () => pair("many", "more"));
  assert.deepEqual(both.rows.flatMap(({ left }) => left ?? []), trace("many").steps.map((_, i) => i + 1));
  assert.deepEqual(both.rows.flatMap(({ right }) => right ?? []), trace("more").steps.map((_, i) => i + 1));
});

test("on another device the same values stand elsewhere", () => {
  const both = pair("host", "device");
  assert.equal(both.parting(), 2);
  assert.match(said(both.differences(3)), /device of x and y is cpu on the left, cuda:0 on the right/);
  assert.deepEqual(both.differences(3).map(({ layer }) => layer), ["device"]);
});

test("a gradient that only one side has, and text that only one side prints, are told", () => {
  const both = pair("grads", "noGrads");
  const text = said(both.summary());
  assert.match(text, /w\.grad exists only on the left/);
  assert.match(text, /They print different text\./);
  assert.match(said(both.differences(both.rows.length)), /freed what it saved, on the left only/);
});

test("a graph that only one side keeps is told, though no name differs but the total", () => {
  const both = pair("losses", "numbers");
  const last = both.differences(both.rows.length);
  assert.match(said(last), /9 nodes of the graph are alive on the left, none on the right/);
  assert.match(said(last), /B are alive on the left, \d+ B on the right/);
  assert.match(said(both.summary()), /nodes? of the graph/);
});

test("a click on either side's step finds the row of both", () => {
  const both = pair("three", "five");
  for (const side of ["left", "right"] as const) {
    for (let step = 0; step <= trace(side === "left" ? "three" : "five").steps.length; step += 1) {
      assert.equal(both.step(side, both.rowOf(side, step)), step);
    }
  }
});
