/**
 * One chart in its place: a title, a sentence that says what it shows, the picture, and the same as a table.
 *
 * The table needs no library: it is there while the picture loads and when it cannot. Zooming has buttons, and
 * a drag over the picture.
 */
import type { Messages } from "../model/messages";
import { el } from "../views/dom";
import { palette, type Palette, type Plotly } from "./plot";

export interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export interface Layout {
  readonly xaxis?: { readonly range?: readonly number[] };
  readonly [other: string]: unknown;
}

export interface ChartContent {
  /** What there is to see, for who does not see it. */
  readonly summary: string;
  readonly table: () => Table;
  /** Null: there is nothing to draw, and the summary says why. */
  readonly figure: ((colours: Palette) => { readonly data: readonly object[]; readonly layout: Layout }) | null;
}

const CONFIG = { displayModeBar: false, displaylogo: false, responsive: true, doubleClick: "reset", scrollZoom: false };
/** Pixels of a saved picture for each of the screen. */
const SHARPNESS = 2;
const ZOOM = 0.5;

let charts = 0;

export class Chart {
  readonly element: HTMLElement;
  private readonly picture = el("div", { class: "chart-picture" });
  private readonly summary: HTMLElement;
  private readonly details: HTMLDetailsElement;
  private readonly tableBody = el("div", { class: "chart-table", tabindex: 0, role: "region" });
  private readonly tools = el("div", { class: "chart-tools", role: "group" });
  private content: ChartContent | null = null;
  private plotly: Plotly | null = null;
  /** What the x axis shows at first. */
  private whole: readonly number[] = [];

  constructor(
    private readonly messages: Messages,
    title: string,
    /** The x axis can be zoomed. */
    zooms: boolean,
    private readonly fileName: string,
  ) {
    charts += 1;
    const heading = el("h4", { class: "chart-title", id: `chart-${charts}` }, title);
    this.summary = el("p", { class: "chart-summary", id: `chart-summary-${charts}` });
    this.tools.setAttribute("aria-label", title);
    if (zooms) {
      this.tool("zoomIn", () => this.zoom(ZOOM));
      this.tool("zoomOut", () => this.zoom(1 / ZOOM));
      this.tool("all", () => void this.plotly?.relayout(this.picture, { "xaxis.range": this.whole, "yaxis.autorange": true }));
    }
    this.tool("png", () => void this.save());
    this.picture.setAttribute("role", "img");
    this.picture.setAttribute("aria-labelledby", heading.id);
    this.picture.setAttribute("aria-describedby", this.summary.id);
    this.details = el("details", { class: "chart-details" }, el("summary", {}, messages.text("ui.analyse.table")), this.tableBody);
    this.tableBody.setAttribute("aria-labelledby", heading.id);
    this.details.addEventListener("toggle", () => this.fill());
    const header = el("header", { class: "chart-header" }, heading, this.tools);
    this.element = el("section", { class: "chart", "aria-labelledby": heading.id }, header, this.summary, this.picture, this.details);
    this.usable();
  }

  show(content: ChartContent): void {
    this.content = content;
    this.summary.textContent = content.summary;
    this.tableBody.replaceChildren();
    this.details.hidden = content.figure === null;
    this.fill();
    this.draw();
  }

  /** Draws from now on; null: it cannot be, and the table stands open instead. */
  use(plotly: Plotly | null): void {
    this.plotly = plotly;
    if (plotly === null) this.details.open = true;
    this.draw();
  }

  /** Draws anew, in the colours of the page as it is now. */
  draw(): void {
    this.usable();
    const figure = this.content?.figure ?? null;
    this.picture.hidden = figure === null || this.plotly === null;
    if (figure === null || this.plotly === null) return;
    const colours = palette();
    const { data, layout } = figure(colours);
    this.whole = layout.xaxis?.range ?? [];
    void this.plotly.react(this.picture, data, { ...frame(colours), ...layout }, CONFIG);
  }

  leave(): void {
    this.plotly?.purge(this.picture);
  }

  private usable(): void {
    this.tools.hidden = this.plotly === null || this.content?.figure == null;
  }

  private tool(id: string, act: () => void): void {
    const button = el("button", { type: "button", class: "small-button tool-button" }, this.messages.text(`ui.analyse.${id}`));
    button.addEventListener("click", act);
    this.tools.append(button);
  }

  private zoom(factor: number): void {
    const { layout } = this.picture as unknown as { layout?: { xaxis?: { range?: [number, number] } } };
    const range = layout?.xaxis?.range;
    if (range === undefined) return;
    const middle = (range[0] + range[1]) / 2;
    const half = ((range[1] - range[0]) / 2) * factor;
    void this.plotly?.relayout(this.picture, { "xaxis.range": [middle - half, middle + half] });
  }

  /** Plotly would draw through an address that our policy forbids for pictures, so only its SVG is taken. */
  private async save(): Promise<void> {
    const { width, height } = this.picture.getBoundingClientRect();
    const url = await this.plotly?.toImage(this.picture, { format: "svg", width, height });
    if (url === undefined) return;
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = el("canvas", { width: Math.round(width * SHARPNESS), height: Math.round(height * SHARPNESS) });
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    el("a", { href: canvas.toDataURL("image/png"), download: `${this.fileName}.png` }).click();
  }

  /** Makes the table when it is first looked at. */
  private fill(): void {
    if (!this.details.open || this.content === null || this.tableBody.childElementCount > 0) return;
    const { head, rows } = this.content.table();
    const header = el("tr", {}, ...head.map((name) => el("th", { scope: "col" }, name)));
    const lines = rows.map((cells) => el("tr", {}, ...cells.map((cell, i) => (i === 0 ? el("th", { scope: "row" }, cell) : el("td", {}, cell)))));
    this.tableBody.append(el("table", {}, el("thead", {}, header), el("tbody", {}, ...lines)));
  }
}

/** What all charts look like. */
function frame({ ink, mute, line, strong, sans, card }: Palette): object {
  return {
    autosize: true,
    margin: { l: 64, r: 16, t: 8, b: 44 },
    paper_bgcolor: card,
    plot_bgcolor: card,
    font: { family: sans, size: 12, color: ink },
    colorway: [ink],
    hoverlabel: { bgcolor: card, bordercolor: strong, font: { family: sans, size: 12, color: ink } },
    legend: { orientation: "h", traceorder: "normal", x: 0, y: 1.02, yanchor: "bottom", font: { color: ink } },
    xaxis: axis(mute, line, strong),
    yaxis: axis(mute, line, strong),
    dragmode: "zoom",
  };
}

function axis(mute: string, line: string, strong: string): object {
  return { color: mute, gridcolor: line, linecolor: strong, zerolinecolor: line, automargin: true, showline: true };
}

interface AxisMore {
  readonly title?: { readonly text: string };
  readonly range?: readonly number[];
  readonly [other: string]: unknown;
}

/** An axis of the frame with more said of it: plotly's layouts are not merged deeply. */
export function axisOf({ mute, line, strong }: Palette, { title, ...more }: AxisMore): object {
  return { ...axis(mute, line, strong), ...more, title: { ...title, font: { size: 12 } } };
}
