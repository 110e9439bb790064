/**
 * The sheet of charts: memory over time, the values and gradients of a tensor, what each line cost.
 *
 * Everything is computed from the trace, in the browser and once the sheet opens. Tables and sentences are
 * there at once, pictures when the plotting library has come.
 */
import { costsOf } from "../layout/costs";
import { courseOf } from "../layout/courses";
import { holdingsOf } from "../layout/holdings";
import { numel } from "../layout/storage";
import { spreadOf, type Spread } from "../layout/spread";
import type { Focus, State, TensorNow } from "../model/state";
import type { Stage } from "../stage";
import { el } from "../views/dom";
import { openSheet } from "../views/sheet";
import { costChart, courseChart, histogram, memoryChart, METRICS, type Metric } from "./analyse-charts";
import { Chart } from "./chart";
import { loadPlotly, onThemeChange } from "./plot";

/** A name of the program at this step, and the frame that it is a name of. */
interface Choice {
  readonly path: string;
  readonly frame: number;
  readonly tensor: TensorNow;
}

export function openAnalysis(stage: Stage, state: State, focus: Focus): void {
  new Analysis(stage, state, focus).open();
}

class Analysis {
  private readonly charts: Chart[] = [];
  private readonly notice = el("p", { class: "notice chart-notice", role: "status" });
  private readonly choices: readonly Choice[];
  private left = false;

  constructor(
    private readonly stage: Stage,
    private readonly state: State,
    private readonly focus: Focus,
  ) {
    this.choices = choicesOf(state);
  }

  private readonly say = (id: string, args: Record<string, unknown> = {}): string => this.stage.messages.text(id, args);

  open(): void {
    const body = el("div", { class: "analyse-body", tabindex: 0, role: "region" }, this.notice, this.memory(), this.values(), this.costs());
    const title = this.say("ui.analyse.title");
    body.setAttribute("aria-label", title);
    const dialog = openSheet(this.stage.messages, title, true, body);
    dialog.classList.add("analyse-sheet");
    const stop = onThemeChange(() => this.charts.forEach((chart) => chart.draw()));
    dialog.addEventListener("close", () => {
      this.left = true;
      stop();
      for (const chart of this.charts) chart.leave();
    });
    void this.load();
  }

  private async load(): Promise<void> {
    this.notice.hidden = false;
    this.notice.classList.remove("problem");
    this.notice.replaceChildren(this.say("ui.analyse.loading"));
    try {
      const plotly = await loadPlotly();
      if (this.left) return;
      this.notice.hidden = true;
      for (const chart of this.charts) chart.use(plotly);
    } catch {
      if (!this.left) this.fail();
    }
  }

  /** The tables say the same, so nothing is lost but the pictures. */
  private fail(): void {
    for (const chart of this.charts) chart.use(null);
    this.notice.classList.add("problem");
    const there = document.querySelector('meta[name="charts"]') !== null;
    this.notice.replaceChildren(this.say(there ? "ui.analyse.failed" : "ui.analyse.missing"));
    if (!there) return;
    const again = el("button", { type: "button", class: "button" }, this.say("ui.player.again"));
    again.addEventListener("click", () => void this.load());
    this.notice.append(" ", again);
  }

  private chart(title: string, zooms: boolean, name: string): Chart {
    const chart = new Chart(this.stage.messages, title, zooms, `tensor-anatomy-${name}`);
    this.charts.push(chart);
    return chart;
  }

  private section(id: string, ...content: (Element | null)[]): HTMLElement {
    const heading = el("h3", { id: `analyse-${id}` }, this.say(`ui.analyse.${id}Title`));
    return el("section", { class: `analyse-section analyse-${id}`, "aria-labelledby": heading.id }, heading, ...content);
  }

  private select(id: string, label: string, options: readonly (readonly [string, string])[], act: (value: string) => void): HTMLElement {
    const select = el("select", { class: "field", id: `analyse-${id}-choice` }, ...options.map(([value, text]) => el("option", { value }, text)));
    select.addEventListener("change", () => act(select.value));
    return el("label", { class: "sheet-field", for: select.id }, el("span", {}, label), select);
  }

  private memory(): HTMLElement {
    const devices = holdingsOf(this.stage.trace, this.stage.outline);
    const charts = devices.map((each, i) => {
      const chart = this.chart(this.say("ui.analyse.memoryOn", { device: each.device }), true, `memory-${i}`);
      chart.element.classList.add("chart-wide");
      chart.show(memoryChart(each, this.stage.outline, this.state.step, this.say));
      return chart.element;
    });
    const nothing = charts.length > 0 ? null : el("p", { class: "empty" }, this.say("ui.analyse.noMemory"));
    return this.section("memory", ...charts, nothing);
  }

  private values(): HTMLElement {
    if (this.choices.length === 0) return this.section("values", el("p", { class: "empty" }, this.say("ui.analyse.noTensor", { step: this.state.step })));
    const { step } = this.state;
    const values = this.chart(this.say("ui.analyse.valuesNow", { step }), false, "values");
    const grads = this.chart(this.say("ui.analyse.gradsNow", { step }), false, "gradients");
    const course = this.chart(this.say("ui.analyse.valuesOver"), true, "values-over-steps");
    const gradCourse = this.chart(this.say("ui.analyse.gradsOver"), true, "gradients-over-steps");
    const show = (choice: Choice): void => {
      const { tensor, path, frame } = choice;
      const grad = tensor.grad === null ? undefined : this.state.tensors.get(tensor.grad);
      const { outline, trace } = this.stage;
      const noGrad = this.say("ui.analyse.noGrad", { name: path, requires: tensor.view.requires_grad ? "yes" : "no" });
      const unknown = this.say("ui.analyse.unknown", { name: path });
      values.show(histogram(this.spread(tensor), tensor.view.dtype, 0, unknown, this.say));
      grads.show(histogram(this.spread(grad), tensor.view.dtype, 1, grad === undefined ? noGrad : unknown, this.say));
      course.show(courseChart(courseOf(trace, frame, path), outline, step, 0, unknown, this.say));
      const never = this.say("ui.analyse.neverGrad", { name: path });
      gradCourse.show(courseChart(courseOf(trace, frame, `${path}.grad`), outline, step, 1, never, this.say));
    };
    const chosen = this.first();
    const options = this.choices.map(({ path, tensor }, i): [string, string] => [String(i), `${path}  (${(tensor.view.shape ?? []).join(", ")})`]);
    const label = this.say("ui.analyse.tensor");
    const select = this.select("tensor", label, options, (value) => {
      const choice = this.choices[Number(value)];
      if (choice !== undefined) show(choice);
    });
    const field = select.querySelector("select");
    if (field !== null) field.value = String(chosen);
    const first = this.choices[chosen];
    if (first !== undefined) show(first);
    const grid = el("div", { class: "chart-grid" }, values.element, grads.element, course.element, gradCourse.element);
    return this.section("values", el("div", { class: "analyse-choice" }, select), grid);
  }

  /** The tensor looked at, else the largest that has a gradient, else the largest. */
  private first(): number {
    const focused = this.choices.findIndex(({ tensor }) => tensor.id === this.focus.tensor);
    if (focused >= 0) return focused;
    const size = ({ tensor }: Choice): number => numel(tensor.view.shape ?? []);
    const learning = this.choices.filter(({ tensor }) => tensor.grad !== null);
    const among = learning.length > 0 ? learning : this.choices;
    const largest = among.reduce<Choice | null>((best, each) => (best === null || size(each) > size(best) ? each : best), null);
    return largest === null ? 0 : this.choices.indexOf(largest);
  }

  private spread(tensor: TensorNow | undefined): Spread | null {
    if (tensor === undefined) return null;
    const { view, values, summary, storage } = tensor;
    const bytes = storage === null ? null : (this.state.storages.get(storage)?.bytes ?? null);
    return spreadOf({ view, bytes, values, summary });
  }

  private costs(): HTMLElement {
    const costs = costsOf(this.stage.trace);
    const chart = this.chart(this.say("ui.analyse.perLine"), false, "lines");
    chart.element.classList.add("chart-wide");
    const show = (metric: Metric): void => chart.show(costChart(costs, this.stage.outline, metric, this.say));
    const options = METRICS.map((metric): [string, string] => [metric, this.say(`ui.analyse.metric.${metric}`)]);
    const select = this.select("metric", this.say("ui.analyse.metricLabel"), options, (value) => show(value as Metric));
    show("executions");
    return this.section("costs", el("div", { class: "analyse-choice" }, select), chart.element);
  }
}

/** Every name of the innermost function and of the module, each tensor's elements counted. */
function choicesOf(state: State): readonly Choice[] {
  const found: Choice[] = [];
  const add = (names: ReadonlyMap<string, number>, frame: number): void => {
    for (const [path, id] of names) {
      const tensor = state.tensors.get(id);
      if (tensor !== undefined) found.push({ path, frame, tensor });
    }
  };
  add(state.bindings, 0);
  if (state.frame !== 0) add(state.locals, state.frame);
  return found;
}
