/**
 * The frame of the lenses: which tensor is looked at, and the lens that is open.
 *
 * It takes the place of the Memory panel's body. A lens is made when it is first opened.
 */
import type { Focus, State } from "../../model/state";
import type { Stage } from "../../stage";
import { livesOf } from "../../layout/lives";
import { shortDtype } from "../../layout/values";
import { tuple } from "../../views/badge";
import { el } from "../../views/dom";
import { nameOf } from "../../views/readout";
import { pick } from "../../views/view";
import { BytesLens } from "./bytes";
import { HoldersLens } from "./holders";
import { Choice, choices, type Lens, type Scene } from "./scene";
import { TensorLens } from "./tensor";
import { WhatIfLens } from "./whatif";

export type LensName = "tensor" | "bytes" | "whatif" | "holders";

export class LensPanel {
  private readonly root: HTMLElement;
  private readonly select: HTMLSelectElement;
  private readonly about = el("span", { class: "lens-about" });
  private readonly made = new Map<LensName, Lens>();
  private readonly body = el("div", { class: "lens-body" });
  private readonly choice = new Choice();
  private readonly marks: ReadonlyMap<number, number>;
  private name: LensName | null = null;
  private listed = "";

  constructor(
    private readonly stage: Stage,
    private readonly memory: HTMLElement,
    close: () => void,
  ) {
    const say = stage.messages.text;
    this.marks = new Map(livesOf(stage.trace).storages.flatMap(({ views }) => views.map((view) => [view.tensor, view.mark] as const)));
    this.select = el("select", { "aria-label": say("ui.lens.choose") });
    this.select.addEventListener("change", () => {
      this.choice.choose(Number(this.select.value));
      pick(this.root, { tensor: Number(this.select.value), storage: null, index: null });
    });
    const back = el("button", { type: "button", class: "small-button" }, say("ui.lens.close"));
    back.addEventListener("click", close);
    const bar = el("div", { class: "lens-bar" }, this.select, this.about, el("span", { class: "space" }), back);
    this.root = el("section", { class: "lens", hidden: true }, bar, this.body);
    this.root.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || event.defaultPrevented) return;
      event.preventDefault();
      close();
    });
    memory.append(this.root);
  }

  open(name: LensName | null): void {
    this.name = name;
    this.root.hidden = name === null;
    this.memory.classList.toggle("lensed", name !== null);
    this.memory.parentElement?.classList.toggle("with-lens", name !== null);
    if (name === null) return;
    const lens = this.made.get(name) ?? this.make(name);
    this.made.set(name, lens);
    this.root.dataset["lens"] = name;
    this.root.setAttribute("aria-label", this.stage.messages.text(`ui.lens.${name}`));
    this.body.replaceChildren(lens.root);
  }

  /** The whole storage looked at, in address order; at the element looked at, so near that it can be read. */
  showStorage(near: boolean): void {
    const lens = this.made.get("tensor");
    if (lens instanceof TensorLens) lens.showStorage(near);
  }

  show(state: State, focus: Focus): void {
    if (this.name === null) return;
    const scene = this.choice.scene(this.stage.trace, state, focus);
    this.list(state, scene);
    this.made.get(this.name)?.show(scene);
  }

  private make(name: LensName): Lens {
    const { messages, trace } = this.stage;
    const makers: Readonly<Record<LensName, () => Lens>> = {
      tensor: () => new TensorLens(messages.text, this.marks),
      bytes: () => new BytesLens(messages.text),
      whatif: () => new WhatIfLens(messages.text),
      holders: () => new HoldersLens(messages.text, trace),
    };
    return makers[name]();
  }

  private list(state: State, { tensor }: Scene): void {
    const say = this.stage.messages.text;
    const groups = choices(state);
    const key = JSON.stringify([groups.map(([{ id }, tensors]) => [id, tensors.map((each) => [each.id, each.names[0]])]), tensor?.id]);
    if (key !== this.listed) {
      this.listed = key;
      const unnamed = tensor !== null && tensor.names.length === 0 ? el("option", { value: tensor.id }, nameOf(tensor, say)) : null;
      const grouped = groups.map(([storage, tensors]) => {
        const options = tensors.map((each) => el("option", { value: each.id }, each.names.slice(0, 2).join(", ")));
        return el("optgroup", { label: `S${storage.id} · ${storage.device}` }, ...options);
      });
      this.select.replaceChildren(...(unnamed === null ? [] : [unnamed]), ...grouped);
      this.select.disabled = groups.length === 0;
    }
    if (tensor !== null) this.select.value = String(tensor.id);
    this.about.textContent = tensor === null ? say("ui.lens.nothing") : about(tensor, say);
  }
}

function about({ view, storage }: NonNullable<Scene["tensor"]>, say: (id: string) => string): string {
  const parts = [shortDtype(view.dtype), `${say("ui.memory.shape")} ${tuple(view.shape)}`];
  if (view.stride !== null) parts.push(`${say("ui.memory.stride")} ${tuple(view.stride)}`, `${say("ui.memory.offset")} ${view.storage_offset ?? 0}`);
  if (storage !== null) parts.push(`S${storage}`);
  return parts.join(" · ");
}
