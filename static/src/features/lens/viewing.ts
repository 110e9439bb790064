/**
 * Would `view(shape)` succeed: the runs of dimensions that may be cut anew, and how the new shape cuts them.
 *
 * A column per run: old dimensions above, the new ones that divide it below. The rule is `layout/rules.ts`.
 */
import { answerView, type ViewAnswer } from "../../layout/rules";
import { numel, type Strided } from "../../layout/storage";
import { tuple } from "../../views/badge";
import { el } from "../../views/dom";
import type { Say } from "../../views/view";

const LONGEST = 6; // dimensions of a shape to ask for

export class ViewAnswerPicture {
  readonly root: HTMLElement;
  private readonly input: HTMLInputElement;
  private readonly said = el("p", { class: "viewing-said", "aria-live": "polite" });
  private readonly runs = el("div", { class: "viewing-runs" });
  private view: Strided = { shape: [], stride: [], offset: 0 };

  constructor(private readonly say: Say) {
    this.input = el("input", { type: "text", value: "-1", spellcheck: "false", autocomplete: "off", "aria-label": say("ui.lens.viewing.shape"), maxlength: 40 });
    this.input.addEventListener("input", () => this.paint());
    const label = el("label", { class: "viewing-ask" }, say("ui.lens.viewing.ask"), el("code", {}, ".view(", this.input, ")"));
    this.root = el("div", { class: "viewing" }, label, this.said, this.runs);
  }

  show(view: Strided): void {
    this.view = view;
    this.paint();
  }

  private paint(): void {
    const { view, say } = this;
    const wanted = shapeOf(this.input.value, numel(view.shape));
    this.input.setAttribute("aria-invalid", String(wanted === null));
    if (wanted === null) {
      this.said.className = "viewing-said";
      this.said.textContent = say("ui.lens.viewing.write");
      this.runs.replaceChildren();
      return;
    }
    const answer = answerView(view, wanted);
    this.said.className = `viewing-said ${answer.stride === null ? "no" : "yes"}`;
    this.said.textContent = `${answer.stride === null ? "✗" : "✓"} ${this.words(answer, wanted)}`;
    this.runs.replaceChildren(...answer.runs.map((run, i) => this.column(answer, i, run.filledBy.map((d) => wanted[d] ?? 1))));
  }

  private words(answer: ViewAnswer, wanted: readonly number[]): string {
    const { view, say } = this;
    const shape = `(${wanted.join(", ")})`;
    if (answer.stride !== null) return say("ui.lens.viewing.yes", { shape, stride: tuple(answer.stride) });
    if (answer.reason === "count") return say("ui.lens.viewing.count", { shape, wanted: numel(wanted), elements: numel(view.shape) });
    const run = answer.runs[answer.broken];
    const before = answer.runs[answer.broken - 1];
    if (run === undefined || before === undefined) return say("ui.lens.viewing.cut", { shape });
    // One step for both runs would have to be this long at their border.
    const border = run.dims[0];
    return say("ui.lens.viewing.no", { shape, a: border - 1, b: border, needed: run.elements * run.step, stride: view.stride[border - 1] ?? 0 });
  }

  private column(answer: ViewAnswer, i: number, filled: readonly number[]): HTMLElement {
    const { view, say } = this;
    const run = answer.runs[i];
    if (run === undefined) return el("div", {});
    const old = view.shape.slice(run.dims[0], run.dims[1] + 1).map((size, k) => {
      const d = run.dims[0] + k;
      return el("span", { class: "viewing-dim" }, el("b", {}, String(size)), el("small", {}, say("ui.lens.viewing.dim", { dim: d, stride: view.stride[d] ?? 0 })));
    });
    const state = answer.stride !== null || i > answer.broken ? "yes" : i === answer.broken ? "no" : "open";
    const cut = filled.length === 0 ? [el("span", { class: "mute" }, "?")] : filled.map((size) => el("span", { class: "viewing-dim" }, el("b", {}, String(size))));
    return el(
      "div",
      { class: `viewing-run ${state}` },
      el("div", { class: "viewing-old" }, ...old),
      el("small", { class: "mute" }, say("ui.lens.viewing.run", { elements: run.elements, step: run.step })),
      el("div", { class: "viewing-new" }, el("span", { "aria-hidden": "true" }, state === "no" ? "✗" : state === "yes" ? "↓" : "·"), ...cut),
    );
  }
}

/** The shape a reader wrote, with one -1 computed; null while it is not one. */
export function shapeOf(text: string, elements: number): number[] | null {
  const words = text.replaceAll(/[()[\]\s]/gu, "").split(",").filter((word) => word !== "");
  const sizes = words.map(Number);
  if (words.length > LONGEST || sizes.some((size) => !Number.isInteger(size) || size < -1)) return null;
  const open = sizes.filter((size) => size === -1).length;
  if (open === 0) return sizes;
  const rest = sizes.reduce((product, size) => (size === -1 ? product : product * size), 1);
  // As PyTorch: what -1 stands for must be a whole number, and only one.
  return open > 1 || rest === 0 || elements % rest !== 0 ? null : sizes.map((size) => (size === -1 ? elements / rest : size));
}
