/** What the charts of a run show: figures for plotly, and the same as tables and sentences. No DOM. */
import type { DeviceHoldings, HolderKind } from "../layout/holdings";
import { HOLDER_KINDS } from "../layout/holdings";
import type { LineCost } from "../layout/costs";
import type { CoursePoint } from "../layout/courses";
import type { Bin, Spread } from "../layout/spread";
import { exactText } from "../layout/values";
import { formatBytes, together, unitOf } from "../model/messages";
import type { Outline } from "../model/outline";
import { axisOf, type ChartContent } from "./chart";
import { plain, type Palette } from "./plot";

export type Say = (id: string, args?: Record<string, unknown>) => string;

const PATTERNS = ["", "/", ".", "x", "-"];

/** Bytes alive on a device after each step, stacked by what keeps them. */
export function memoryChart(holdings: DeviceHoldings, outline: Outline, step: number, say: Say): ChartContent {
  const { device, kinds, total, within, peak } = holdings;
  const steps = total.map((_, i) => i);
  const used = HOLDER_KINDS.filter((kind) => kinds[kind].some((bytes) => bytes > 0));
  const name = (kind: HolderKind): string => say(`ui.held.${kind}`);
  const [unit, size] = unitOf(peak.bytes);
  return {
    summary: say("ui.analyse.memorySummary", { device, steps: total.length - 1, bytes: peak.bytes, step: peak.step, end: total.at(-1) ?? 0 }),
    table: () => ({
      head: [say("ui.text.step"), say("ui.text.code"), ...used.map(name), say("ui.analyse.total"), say("ui.analyse.within")],
      rows: steps.slice(1).map((i) => [
        String(i),
        outline.steps[i - 1]?.text ?? "",
        ...used.map((kind) => formatBytes(kinds[kind][i] ?? 0)),
        formatBytes(total[i] ?? 0),
        formatBytes(within[i] ?? 0),
      ]),
    }),
    figure: (colours) => ({
      data: [
        ...used.map((kind, i) => ({
          type: "scatter", mode: "lines", stackgroup: "alive", name: name(kind), x: steps, y: kinds[kind].map((bytes) => bytes / size),
          line: { shape: "hvh", width: 1, color: heldIn(colours, kind) },
          fillcolor: heldIn(colours, kind),
          fillpattern: { shape: PATTERNS[i % PATTERNS.length], bgcolor: heldIn(colours, kind), fgcolor: colours.card, size: 7, solidity: 0.2 },
          text: steps.map((at) => formatBytes(kinds[kind][at] ?? 0)), hovertemplate: "%{text}",
        })),
        {
          type: "scatter", mode: "lines", name: say("ui.analyse.within"), x: steps, y: within.map((bytes) => bytes / size),
          line: { shape: "hvh", width: 1.5, dash: "dot", color: colours.ink },
          text: steps.map((at) => formatBytes(within[at] ?? 0)), hovertemplate: "%{text}",
        },
      ],
      layout: {
        hovermode: "x unified",
        xaxis: axisOf(colours, stepAxis(total.length - 1, say)),
        yaxis: axisOf(colours, { title: { text: say("ui.analyse.bytes", { unit }) }, tickformat: ",~r", rangemode: "tozero" }),
        shapes: [mark(step, colours)],
      },
    }),
  };
}

/** How many values lie where. */
export function histogram(spread: Spread | null, dtype: string, colour: number, missing: string, say: Say): ChartContent {
  if (spread === null) return { summary: missing, table: () => ({ head: [], rows: [] }), figure: null };
  const { bins } = spread;
  const range = (bin: Bin): string => {
    const whole = bin.high - bin.low === 1 && !Number.isInteger(bin.low);
    return whole ? short(bin.low + 0.5) : say("ui.analyse.range", { low: short(bin.low), high: short(bin.high) });
  };
  return {
    summary: together([figures(spread, dtype, say), sampled(spread, say)]),
    table: () => ({
      head: [say("ui.analyse.values"), say("ui.analyse.count")],
      rows: bins.map((bin) => [range(bin), String(bin.count)]),
    }),
    figure: bins.length === 0 || spread.looked === 1 ? null : (colours) => ({
      data: [{
        type: "bar",
        x: bins.map(({ low, high }) => (low + high) / 2),
        width: bins.map(({ low, high }) => (high - low || 1) * 0.94),
        y: bins.map(({ count }) => count),
        marker: { color: seriesOf(colours, colour), line: { width: 0 } },
        text: bins.map(range), textposition: "none", hovertemplate: `%{text}: %{y}<extra></extra>`,
      }],
      layout: {
        showlegend: false,
        xaxis: axisOf(colours, { title: { text: say("ui.analyse.value") } }),
        yaxis: axisOf(colours, { title: { text: say("ui.analyse.count") }, rangemode: "tozero", tickformat: ",d", ...wholeTicks(bins.map(({ count }) => count)) }),
      },
    }),
  };
}

/** Smallest, mean and largest value of a name, from step to step. */
export function courseChart(points: readonly CoursePoint[], outline: Outline, step: number, colour: number, missing: string, say: Say): ChartContent {
  const known = points.flatMap(({ step: at, spread }) => (spread === null ? [] : [{ at, spread }]));
  if (known.length === 0) return { summary: missing, table: () => ({ head: [], rows: [] }), figure: null };
  const steps = outline.steps.length;
  const first = known[0]?.at ?? 0;
  const part = known.find(({ spread }) => spread.looked < spread.elements)?.spread;
  const said = say("ui.analyse.courseSummary", { times: known.length, step: first });
  return {
    summary: part === undefined ? said : together([said, sampled({ ...part, counted: part.looked, others: 0 }, say)]),
    table: () => ({
      head: [say("ui.text.step"), say("ui.text.code"), say("ui.analyse.minimum"), say("ui.analyse.mean"), say("ui.analyse.maximum")],
      rows: known.map(({ at, spread }) => [
        String(at), outline.steps[at - 1]?.text ?? "", short(spread.minimum), short(spread.mean), short(spread.maximum),
      ]),
    }),
    figure: (colours) => {
      const { xs, spreads } = everyStep(points, steps);
      const line = (id: string, of: (spread: Spread) => number, more: object): object => ({
        type: "scatter", mode: "lines", name: say(`ui.analyse.${id}`), x: xs, connectgaps: false,
        y: spreads.map((spread) => (spread === null || !Number.isFinite(of(spread)) ? null : of(spread))),
        line: { shape: "hvh", width: 1.2, color: seriesOf(colours, colour) }, hovertemplate: "%{y:.6~g}", ...more,
      });
      return {
        data: [
          line("minimum", ({ minimum }) => minimum, {}),
          line("maximum", ({ maximum }) => maximum, { fill: "tonexty", fillcolor: faint(seriesOf(colours, colour)) }),
          line("mean", ({ mean }) => mean, { line: { shape: "hvh", width: 2.4, dash: "dash", color: colours.ink } }),
        ],
        layout: {
          hovermode: "x unified",
          xaxis: axisOf(colours, stepAxis(steps, say)),
          yaxis: axisOf(colours, { title: { text: say("ui.analyse.value") } }),
          shapes: [mark(step, colours)],
        },
      };
    },
  };
}

export const METRICS = ["executions", "operations", "allocated", "peak", "copied"] as const;
export type Metric = (typeof METRICS)[number];

/** What each line cost, by one measure; the table has them all. */
export function costChart(costs: readonly LineCost[], outline: Outline, metric: Metric, say: Say): ChartContent {
  const devices = [...new Set(costs.flatMap(({ peak }) => [...peak.keys()]))];
  const of = (cost: LineCost, which: Metric): number => (which === "peak" ? Math.max(0, ...cost.peak.values()) : cost[which]);
  const inBytes = metric === "allocated" || metric === "peak" || metric === "copied";
  const atLeast = (cost: LineCost, text: string): string => (cost.partial ? `≥ ${text}` : text);
  const value = (cost: LineCost): string => {
    const text = inBytes ? formatBytes(of(cost, metric)) : of(cost, metric).toLocaleString("en");
    return metric === "executions" ? text : atLeast(cost, text);
  };
  const source = (line: number): string => (outline.lines[line - 1] ?? "").trim();
  const most = costs.reduce<LineCost | null>((best, cost) => (best === null || of(cost, metric) > of(best, metric) ? cost : best), null);
  const name = say(`ui.analyse.metric.${metric}`);
  const head = say(`ui.analyse.most`, { metric: name, line: most?.line ?? 0, source: source(most?.line ?? 0), value: most === null ? "" : value(most) });
  const nothing = most === null || of(most, metric) === 0;
  const [unit, size] = inBytes && most !== null ? unitOf(of(most, metric)) : ["", 1];
  const partial = costs.some((cost) => cost.partial) ? say("ui.analyse.partial") : "";
  return {
    summary: together([nothing ? say("ui.analyse.none", { metric: name }) : head, partial]),
    table: () => ({
      head: [
        say("ui.text.line"), say("ui.text.code"), say("ui.analyse.metric.executions"), say("ui.analyse.metric.operations"),
        say("ui.analyse.storages"), say("ui.analyse.metric.allocated"),
        ...devices.map((device) => say("ui.analyse.peakOn", { device })), say("ui.analyse.copies"), say("ui.analyse.metric.copied"),
      ],
      rows: costs.map((cost) => [
        String(cost.line), source(cost.line), cost.executions.toLocaleString("en"),
        ...[cost.operations.toLocaleString("en"), cost.storages.toLocaleString("en"), formatBytes(cost.allocated)].map((text) => atLeast(cost, text)),
        ...devices.map((device) => formatBytes(cost.peak.get(device) ?? 0)),
        ...[cost.copies.toLocaleString("en"), formatBytes(cost.copied)].map((text) => atLeast(cost, text)),
      ]),
    }),
    figure: nothing ? null : (colours) => ({
      data: [{
        type: "bar", orientation: "h",
        y: costs.map(({ line }) => `${line}`), x: costs.map((cost) => of(cost, metric) / size),
        customdata: costs.map(({ line }) => plain(source(line))),
        text: costs.map(value), textposition: "auto", cliponaxis: false, constraintext: "none",
        marker: { color: seriesOf(colours, 0), line: { width: 0 } },
        insidetextfont: { color: colours.card }, outsidetextfont: { color: colours.ink },
        hovertemplate: "%{customdata}<br>%{text}<extra></extra>",
      }],
      layout: {
        showlegend: false,
        bargap: 0.35,
        height: 90 + 24 * costs.length,
        xaxis: axisOf(colours, inBytes ? { title: { text: say("ui.analyse.in", { what: name, unit }) }, tickformat: ",~r", rangemode: "tozero" } : { title: { text: name }, tickformat: ",d", rangemode: "tozero", ...wholeTicks(costs.map((cost) => of(cost, metric))) }),
        yaxis: axisOf(colours, {
          type: "category", autorange: "reversed", ticklabelstandoff: 6, showgrid: false,
          tickmode: "array", tickvals: costs.map(({ line }) => `${line}`),
          ticktext: costs.map(({ line }) => plain(`${line}  ${clip(source(line))}`)),
          tickfont: { family: "monospace", size: 11 },
        }),
      },
    }),
  };
}

const LONGEST = 34;
const clip = (text: string): string => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);

const seriesOf = (colours: Palette, at: number): string => colours.series[at] ?? colours.ink;

const heldIn = (colours: Palette, kind: HolderKind): string => colours.held(kind) || seriesOf(colours, HOLDER_KINDS.indexOf(kind));

/** A colour of six hexadecimal digits, nearly clear. */
const faint = (colour: string): string => (/^#[0-9a-f]{6}$/i.test(colour) ? `${colour}33` : "rgba(128,128,128,.2)");

/** The step that is shown. */
function mark(step: number, { now }: Palette): object {
  return { type: "line", x0: step, x1: step, y0: 0, y1: 1, yref: "paper", line: { color: now, width: 2 } };
}

/** What a name led to holds until the next point; where it led to nothing the line is broken. */
function everyStep(points: readonly CoursePoint[], steps: number): { xs: number[]; spreads: (Spread | null)[] } {
  const spreads: (Spread | null)[] = [];
  let next = 0;
  for (let step = 1; step <= steps; step += 1) {
    const here = points[next]?.step === step ? points[next++]?.spread : spreads.at(-1);
    spreads.push(here ?? null);
  }
  return { xs: spreads.map((_, i) => i + 1), spreads };
}

/** A step has its place around its number. */
function stepAxis(steps: number, say: Say): { title: { text: string }; range: number[]; [more: string]: unknown } {
  return { title: { text: say("ui.text.step") }, tickformat: ",d", range: [0.5, Math.max(1, steps) + 0.5], ...(steps <= 16 ? { dtick: 1 } : {}) };
}

/** Few things are counted one by one. */
function wholeTicks(counts: readonly number[]): object {
  return Math.max(0, ...counts) <= 6 ? { dtick: 1 } : {};
}

function short(value: number): string {
  return exactText(Number.isFinite(value) ? Number(value.toPrecision(6)) : value, "float64");
}

function figures({ minimum, mean, maximum, looked, others }: Spread, dtype: string, say: Say): string {
  if (looked === others) return say("ui.analyse.noneFinite");
  const magnitude = dtype.includes("complex") ? "yes" : "no";
  return say("ui.analyse.figures", { minimum: short(minimum), mean: short(mean), maximum: short(maximum), magnitude });
}

function sampled({ elements, counted, others }: Spread, say: Say): string {
  return say(counted > 0 && counted < elements ? "ui.analyse.sample" : "ui.analyse.whole", { counted, elements, others });
}
