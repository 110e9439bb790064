/**
 * The bytes of one element: in memory with their addresses, as one number of bits, and in other dtypes.
 *
 * The first two were observed; the table of other dtypes is computed from the value, and says so. The
 * reader may try another value there: `1.5` in float32, bfloat16 and int8, side by side.
 */
import { bitsOf, cast, exactDecimal, fieldsOf, meaningOf, partDtype, SIDE_BY_SIDE, type BitField, type Meaning } from "../../layout/bits";
import { exactText, readValue, shortDtype, type Value } from "../../layout/values";
import { numel } from "../../layout/storage";
import { element } from "../../views/badge";
import { el } from "../../views/dom";
import { nameOf } from "../../views/readout";
import { pick, type Say } from "../../views/view";
import type { Lens, Scene } from "./scene";

export class BytesLens implements Lens {
  readonly root: HTMLElement;
  private readonly title = el("h3", { class: "bytes-title", "aria-live": "polite" });
  private readonly own = el("div", { class: "bytes-own" });
  private readonly input: HTMLInputElement;
  private readonly table = el("table", { class: "bytes-table" });
  private readonly which = el("span", { class: "mute small" });
  private scene: Scene | null = null;
  /** What the reader wrote; null follows the element. */
  private written: string | null = null;

  constructor(private readonly say: Say) {
    this.input = el("input", { type: "text", inputmode: "decimal", autocomplete: "off", spellcheck: "false", maxlength: 40, "aria-label": say("ui.lens.bytes.value") });
    this.input.addEventListener("input", () => {
      this.written = this.input.value.trim();
      this.writeTable();
    });
    const follow = el("button", { type: "button", class: "small-button" }, say("ui.lens.bytes.follow"));
    follow.addEventListener("click", () => {
      this.written = null;
      if (this.scene !== null) this.show(this.scene);
    });
    const step = (by: number, mark: string, word: string): HTMLElement => {
      const button = el("button", { type: "button", class: "small-button", "aria-label": say(word), title: say(word) }, mark);
      button.addEventListener("click", () => this.move(by));
      return button;
    };
    const head = el("div", { class: "bytes-head" }, this.title, step(-1, "‹", "ui.lens.previous"), step(1, "›", "ui.lens.next"));
    const other = el(
      "section",
      { class: "bytes-other" },
      el("h3", {}, say("ui.lens.bytes.other")),
      el("p", { class: "bytes-ask" }, el("label", {}, say("ui.lens.bytes.value"), " ", this.input), follow, this.which),
      el("div", { class: "bytes-scroll", tabindex: 0, role: "group", "aria-label": say("ui.lens.bytes.other") }, this.table),
    );
    this.root = el("div", { class: "lens-bytes" }, el("section", { class: "bytes-observed" }, head, this.own), other);
  }

  show(scene: Scene): void {
    this.scene = scene;
    const { say } = this;
    const { window, storage, tensor, looking } = scene;
    this.own.replaceChildren();
    if (window === null || storage === null || tensor === null || looking.index === null || looking.byte === null) {
      this.title.textContent = tensor === null ? say("ui.lens.nothing") : say("ui.memory.noElement", { name: nameOf(tensor, say) });
    } else {
      this.title.replaceChildren(el("code", {}, element(tensor.names[0] ?? nameOf(tensor, say), looking.index)), ` · ${shortDtype(tensor.view.dtype)}`);
      const bytes = storage.bytes?.subarray(looking.byte, looking.byte + window.itemSize) ?? null;
      if (bytes?.length !== window.itemSize) {
        this.own.append(el("p", { class: "mute" }, say(storage.device === "meta" ? "ui.memory.metaValue" : "ui.lens.bytes.unknown")));
      } else this.own.append(...this.observed(bytes, BigInt(storage.address), looking.byte, scene));
    }
    if (this.written === null) this.input.value = valueWords(this.valueOf());
    this.writeTable();
  }

  private move(by: number): void {
    const { looking, window, tensor } = this.scene ?? {};
    if (looking?.index == null || window == null || tensor == null) return;
    const { shape } = window.view;
    let rest = looking.index.reduce((n, i, d) => n * (shape[d] ?? 1) + i, 0) + by;
    if (rest < 0 || rest >= numel(shape)) return;
    const index = shape.map(() => 0);
    for (let d = shape.length - 1; d >= 0; d--) {
      index[d] = rest % (shape[d] ?? 1);
      rest = Math.floor(rest / (shape[d] ?? 1));
    }
    pick(this.root, { storage: tensor.storage, tensor: tensor.id, index });
  }

  private valueOf(): Value {
    const { storage, looking, tensor } = this.scene ?? {};
    if (storage?.bytes == null || looking?.byte == null || tensor == null) return null;
    return readValue(storage.bytes, looking.byte, tensor.view);
  }

  private observed(bytes: Uint8Array, start: bigint, byte: number, { tensor }: Scene): HTMLElement[] {
    const { say } = this;
    const dtype = shortDtype(tensor?.view.dtype ?? "");
    const memory = el("ol", { class: "byte-row", "aria-label": say("ui.lens.bytes.memory") });
    bytes.forEach((value, i) => {
      const whole = start === 0n ? say("ui.memory.noAddress") : `0x${(start + BigInt(byte + i)).toString(16)}`;
      const where = whole.length > 10 ? `…${whole.slice(-6)}` : whole;
      memory.append(el("li", { class: "byte-box", "data-byte": byte + i }, el("small", {}, `+${byte + i}`), el("b", {}, value.toString(16).padStart(2, "0")), el("span", {}, value.toString(2).padStart(8, "0")), el("small", { class: "byte-address", title: whole }, where)));
    });
    const parts = partDtype(dtype);
    const size = parts === null ? bytes.length : bytes.length / 2;
    const from = start === 0n ? say("ui.memory.noAddress") : `0x${(start + BigInt(byte)).toString(16)}`;
    const numbers: HTMLElement[] = [el("h4", {}, say("ui.lens.bytes.memory"), ` · ${say("ui.memory.address")} `, el("code", {}, from)), memory];
    const names = parts === null ? [""] : [say("ui.lens.bytes.real"), say("ui.lens.bytes.imaginary")];
    names.forEach((name, i) => {
      const own = bytes.subarray(i * size, (i + 1) * size);
      numbers.push(el("h4", {}, name === "" ? say("ui.lens.bytes.bits") : say("list.label", { label: name, text: say("ui.lens.bytes.bits") })));
      numbers.push(this.bits(fieldsOf(own, parts ?? dtype)), this.sum(own, parts ?? dtype));
    });
    const view = tensor?.view;
    if (view?.is_conj === true || view?.is_neg === true) numbers.push(el("p", { class: "small" }, say(view.is_conj ? "ui.lens.bytes.conj" : "ui.lens.bytes.neg")));
    return numbers;
  }

  private bits(fields: readonly BitField[]): HTMLElement {
    const boxes = fields.map(({ kind, bits }) => {
      return el("span", { class: `bit-field bit-${kind}` }, el("span", { class: "bit-digits" }, bits), el("small", {}, this.say(`ui.lens.field.${kind}`)));
    });
    return el("div", { class: "bit-row" }, ...boxes);
  }

  /** How the bits make the value, and the value to its last decimal. */
  private sum(bytes: Uint8Array, dtype: string): HTMLElement {
    const value = readValue(bytes, 0, { dtype, is_conj: false, is_neg: false });
    const meaning = meaningOf(bytes, dtype);
    const lines: HTMLElement[] = [el("code", { class: "bit-sum" }, sumText(meaning, bytes, value))];
    if (meaning.kind === "subnormal") lines.push(el("span", { class: "small mute" }, this.say("ui.lens.bytes.subnormal")));
    if (typeof value === "number" && Number.isFinite(value) && !meaning.kind.startsWith("twos") && meaning.kind !== "whole") {
      const [printed, exact] = [exactText(value, dtype), exactDecimal(value)];
      const same = exact === printed;
      lines.push(el("p", { class: "bytes-exact" }, this.say(same ? "ui.lens.bytes.same" : "ui.lens.bytes.exact", { printed, exact })));
    }
    return el("div", { class: "bit-sum-box" }, ...lines);
  }

  private writeTable(): void {
    const { say } = this;
    const own = this.valueOf();
    const parsed = numberOf(this.written ?? (Array.isArray(own) ? String(own[0]) : valueWords(own)));
    const value = this.written === null && (typeof own === "number" || typeof own === "bigint") ? own : parsed;
    const dtype = shortDtype(this.scene?.tensor?.view.dtype ?? "");
    this.which.textContent = say(this.written === null ? (Array.isArray(own) ? "ui.lens.bytes.realPart" : "ui.lens.bytes.ofElement") : "ui.lens.bytes.tried");
    this.input.setAttribute("aria-invalid", String(value === null));
    if (value === null) {
      this.table.replaceChildren(el("tbody", {}, el("tr", {}, el("td", {}, say("ui.lens.bytes.write")))));
      return;
    }
    const head = ["dtype", "bits", "value", "off"].map((column) => el("th", { scope: "col" }, say(column === "dtype" ? "ui.memory.dtype" : `ui.lens.bytes.column.${column}`)));
    const rows = SIDE_BY_SIDE.map((name) => this.row(value, name, name === dtype && this.written === null));
    this.table.replaceChildren(el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows));
  }

  private row(value: number | bigint, dtype: string, own: boolean): HTMLElement {
    const { say } = this;
    const { bytes } = cast(value, dtype);
    const name = el("th", { scope: "row" }, dtype, own ? el("small", {}, ` ${say("ui.lens.bytes.here")}`) : null);
    if (bytes === null) return el("tr", { "data-dtype": dtype }, name, el("td", { colspan: 3, class: "mute" }, say("ui.lens.bytes.undefined")));
    const back = readValue(bytes, 0, { dtype, is_conj: false, is_neg: false });
    const number = typeof back === "boolean" ? Number(back) : typeof back === "bigint" ? Number(back) : typeof back === "number" ? back : Number.NaN;
    const digits = fieldsOf(bytes, dtype).map(({ kind, bits }) => el("span", { class: `bit-${kind}` }, bits));
    const whole = Number(value);
    // `==` compares a number with a bigint exactly.
    const equal = back == value || (Number.isNaN(number) && Number.isNaN(whole));
    const off = dtype === "bool" || equal ? "" : offBy(number, whole);
    const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    return el(
      "tr",
      { class: own ? "own" : "", "data-dtype": dtype },
      name,
      el("td", {}, el("span", { class: "bit-digits" }, ...digits), el("small", { title: say("ui.lens.bytes.order") }, hex)),
      el("td", {}, exactText(back, dtype)),
      el("td", { class: off === "" ? "mute" : "off" }, off === "" ? say("ui.lens.bytes.equal") : off),
    );
  }
}

function offBy(number: number, value: number): string {
  if (!Number.isFinite(number) || !Number.isFinite(value)) return "≠";
  const difference = number - value;
  return `${difference > 0 ? "+" : "−"}${Number(Math.abs(difference).toPrecision(3))}`;
}

function sumText(meaning: Meaning, bytes: Uint8Array, value: Value): string {
  const result = value === null ? "?" : Array.isArray(value) ? "?" : typeof value === "number" ? String(value) : String(value);
  switch (meaning.kind) {
    case "normal":
    case "subnormal": {
      const { negative, exponent, fraction, digits, stored, bias, kind } = meaning;
      const lead = kind === "normal" ? "1" : "0";
      const power = kind === "normal" ? `2^(${stored} − ${bias})` : `2^(1 − ${bias})`;
      return `${negative ? "−" : "+"}(${lead} + ${fraction} / 2^${digits}) × ${power} = ${negative ? "−" : ""}(${lead} + ${fraction} / 2^${digits}) × 2^${exponent} = ${result}`;
    }
    case "power": return `2^(${meaning.stored} − ${meaning.bias}) = ${result}`;
    case "twos": return meaning.negative ? `−2^${meaning.width - 1} + ${meaning.low} = ${result}` : result;
    case "infinite": return result.replace("Infinity", "inf");
    case "nan": return "nan";
    case "truth": return `0x${bytes[0]?.toString(16).padStart(2, "0") ?? ""} ${value === true ? "≠ 0 → True" : "= 0 → False"}`;
    default: return bitsOf(bytes).length <= 16 ? `0b${bitsOf(bytes)} = ${result}` : result;
  }
}

function valueWords(value: Value): string {
  if (value === null) return "1.5";
  if (Array.isArray(value)) return String(value[0]);
  if (typeof value === "boolean") return value ? "1" : "0";
  if (typeof value === "number") return Object.is(value, -0) ? "-0" : Number.isFinite(value) ? String(value) : exactText(value, "float64");
  return String(value);
}

/** A number as Python writes it; null while it is none. */
function numberOf(text: string): number | null {
  const lower = text.trim().toLowerCase();
  const named: Readonly<Record<string, number>> = { nan: Number.NaN, inf: Infinity, "-inf": -Infinity, true: 1, false: 0 };
  if (lower in named) return named[lower] ?? null;
  if (lower === "" || !/^[-+]?(\d[\d_]*\.?\d*|\.\d+)(e[-+]?\d+)?$/u.test(lower)) return null;
  return Number(lower.replaceAll("_", ""));
}
