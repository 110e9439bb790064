/**
 * Turns bytes of a storage into numbers, as each dtype of PyTorch reads them, and numbers into short text.
 *
 * No DOM, no strides. Python has the twin (`app/schema/values.py`); both pass `tests/data/values.json`,
 * which torch computed. Small floating-point formats are read by their definition: sign, exponent,
 * fraction, and which patterns are infinite or not a number.
 */

/** A value; complex is a pair; null where the bytes are not there or the dtype is unknown. */
export type Value = number | bigint | boolean | readonly [number, number] | null;

/** The bits of a view that change how its bytes are read. */
export interface ReadAs {
  readonly dtype: string;
  readonly is_conj: boolean;
  readonly is_neg: boolean;
}

/** A float format: widths, bias, and which patterns are no numbers. */
export interface FloatFormat {
  readonly exponent: number;
  readonly fraction: number;
  readonly bias: number;
  /** `ieee`: all-ones exponent is infinite or nan; `fn`: only all ones is nan; `fnuz`: only -0 is nan. */
  readonly special: "ieee" | "fn" | "fnuz";
}

/** Floats that JavaScript cannot read by itself. */
export const SMALL_FLOATS: Readonly<Record<string, FloatFormat>> = {
  float16: { exponent: 5, fraction: 10, bias: 15, special: "ieee" },
  bfloat16: { exponent: 8, fraction: 7, bias: 127, special: "ieee" },
  float8_e5m2: { exponent: 5, fraction: 2, bias: 15, special: "ieee" },
  float8_e4m3fn: { exponent: 4, fraction: 3, bias: 7, special: "fn" },
  float8_e5m2fnuz: { exponent: 5, fraction: 2, bias: 16, special: "fnuz" },
  float8_e4m3fnuz: { exponent: 4, fraction: 3, bias: 8, special: "fnuz" },
};

const ITEM_SIZES: Readonly<Record<string, number>> = {
  float64: 8, float32: 4, float16: 2, bfloat16: 2,
  float8_e5m2: 1, float8_e4m3fn: 1, float8_e5m2fnuz: 1, float8_e4m3fnuz: 1, float8_e8m0fnu: 1,
  float4_e2m1fn_x2: 1,
  int64: 8, int32: 4, int16: 2, int8: 1, uint64: 8, uint32: 4, uint16: 2, uint8: 1, bool: 1,
  complex128: 16, complex64: 8, complex32: 4,
  qint8: 1, quint8: 1, qint32: 4, quint4x2: 1, quint2x4: 1,
  bits8: 1, bits16: 2, bits1x8: 1, bits2x4: 1, bits4x2: 1,
};

/** `float32` of `torch.float32`. */
export function shortDtype(dtype: string): string {
  return dtype.replace(/^torch\./, "");
}

/** Bytes per element, or null for a dtype that is not known. */
export function itemSize(dtype: string): number | null {
  return ITEM_SIZES[shortDtype(dtype)] ?? null;
}

/** Reads the element that begins at a byte. Null when it is not all there or cannot be read. */
export function readValue(bytes: Uint8Array, byte: number, as: ReadAs): Value {
  const dtype = shortDtype(as.dtype);
  const size = ITEM_SIZES[dtype];
  if (size === undefined || byte < 0 || byte + size > bytes.length) return null;
  const value = read(new DataView(bytes.buffer, bytes.byteOffset + byte, size), dtype);
  return as.is_conj || as.is_neg ? adjusted(value, as) : value;
}

function read(at: DataView, dtype: string): Value {
  switch (dtype) {
    case "float64": return at.getFloat64(0, true);
    case "float32": return at.getFloat32(0, true);
    case "int64": return integer(at.getBigInt64(0, true));
    case "uint64": return integer(at.getBigUint64(0, true));
    case "int32": return at.getInt32(0, true);
    case "uint32": return at.getUint32(0, true);
    case "int16": return at.getInt16(0, true);
    case "uint16": return at.getUint16(0, true);
    case "int8": return at.getInt8(0);
    case "uint8": return at.getUint8(0);
    case "bool": return at.getUint8(0) !== 0;
    case "complex128": return [at.getFloat64(0, true), at.getFloat64(8, true)];
    case "complex64": return [at.getFloat32(0, true), at.getFloat32(4, true)];
    case "complex32": return [half(at.getUint16(0, true)), half(at.getUint16(2, true))];
    case "float8_e8m0fnu": return at.getUint8(0) === 255 ? Number.NaN : 2 ** (at.getUint8(0) - 127);
  }
  const small = SMALL_FLOATS[dtype];
  if (small === undefined) return null;
  return smallFloat(at.byteLength === 1 ? at.getUint8(0) : at.getUint16(0, true), small);
}

function half(bits: number): number {
  const format = SMALL_FLOATS["float16"];
  return format === undefined ? Number.NaN : smallFloat(bits, format);
}

/** A number where it is exact, else a bigint. */
function integer(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

function smallFloat(bits: number, format: FloatFormat): number {
  const { exponent: width, fraction: digits, bias, special } = format;
  const fraction = bits & ((1 << digits) - 1);
  const exponent = (bits >> digits) & ((1 << width) - 1);
  const sign = bits >> (digits + width) === 0 ? 1 : -1;
  const top = (1 << width) - 1;
  if (special === "ieee" && exponent === top) return fraction === 0 ? sign * Infinity : Number.NaN;
  if (special === "fn" && exponent === top && fraction === (1 << digits) - 1) return Number.NaN;
  if (special === "fnuz" && sign < 0 && exponent === 0 && fraction === 0) return Number.NaN;
  const scale = 2 ** -digits;
  if (exponent === 0) return sign * fraction * scale * 2 ** (1 - bias);
  return sign * (1 + fraction * scale) * 2 ** (exponent - bias);
}

function adjusted(value: Value, { is_conj, is_neg }: ReadAs): Value {
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "bigint") return is_neg ? -value : value;
  if (typeof value === "number") return is_neg ? -value : value;
  const [re, im] = value;
  const sign = is_neg ? -1 : 1;
  return [sign * re, sign * (is_conj ? -im : im)];
}

/**
 * An element of a tensor whose values do not follow from bytes: of its own list, or of the first values of a
 * large one, which are those of the last two dimensions. Undefined where it was not recorded.
 */
export function recordedAt({ values, summary }: { readonly values: unknown; readonly summary: { readonly corner: unknown } | null }, index: readonly number[]): number | string | readonly [number, number] | undefined {
  const lead = values === undefined ? Math.max(0, index.length - 2) : 0;
  if (index.slice(0, lead).some((i) => i > 0)) return undefined;
  const found = index.slice(lead).reduce<unknown>((nested, i) => (Array.isArray(nested) ? (nested[i] as unknown) : undefined), values ?? summary?.corner);
  if (typeof found === "number" || typeof found === "string") return found;
  return Array.isArray(found) && found.length === 2 && found.every((part) => typeof part === "number") ? [found[0] as number, found[1] as number] : undefined;
}

/** Two values are the same to a reader: nan equals nan, 0 differs from -0. */
export function sameValue(a: Value, b: Value): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return Object.is(a[0], b[0]) && Object.is(a[1], b[1]);
  return Object.is(a, b);
}

/** Digits after which a float of a dtype says nothing new. */
const PRECISION: Readonly<Record<string, number>> = { float32: 9, complex64: 9, float64: 17, complex128: 17 };

/** The shortest text that names the value among those of its dtype: `0.1` for the float32 next to 0.1. */
export function exactText(value: Value, dtype: string): string {
  if (value === null) return "?";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "bigint") return value.toString();
  const short = shortDtype(dtype);
  if (typeof value === "number") return shortest(value, short);
  const im = shortest(value[1], short);
  return `${shortest(value[0], short)}${im.startsWith("-") ? "" : "+"}${im}j`;
}

function shortest(value: number, dtype: string): string {
  if (!Number.isFinite(value)) return notFinite(value);
  if (Object.is(value, -0)) return "-0";
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return String(value);
  if (dtype !== "float32" && dtype !== "complex64") return tidy(String(value));
  for (let digits = 1; digits < (PRECISION[dtype] ?? 9); digits++) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === value) return tidy(String(Number(text)));
  }
  return tidy(String(Number(value.toPrecision(9))));
}

function notFinite(value: number): string {
  if (Number.isNaN(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

const tidy = (text: string): string => text.replace("e+", "e");

/**
 * Text of at most `room` characters where that is possible: fewer digits, then an exponent. What is no
 * whole number never looks like one: 12.7 in three characters is `13.`, with a point.
 *
 * What does not fit whole is rounded, and `exactText` says the rest where the reader asks.
 */
export function shortText(value: Value, dtype: string, room: number): string {
  const exact = exactText(value, dtype);
  if (exact.length <= room || value === null || typeof value === "boolean") return exact;
  if (typeof value === "bigint") return rounded(Number(value), room);
  if (typeof value === "number") return rounded(value, room);
  const part = Math.max(1, Math.floor((room - 2) / 2));
  const im = rounded(value[1], part);
  return `${rounded(value[0], part)}${im.startsWith("-") ? "" : "+"}${im}j`;
}

function rounded(value: number, room: number): string {
  if (!Number.isFinite(value)) return notFinite(value);
  const whole = Number.isInteger(value);
  const pointed = (text: string): string => (whole || !/^-?\d+$/.test(text) ? text : `${text}.`);
  const plain = (digits: number): string => pointed(tidy(String(Number(value.toPrecision(digits)))));
  const scientific = (digits: number): string => tidy(value.toExponential(digits - 1));
  const bare = (digits: number): string => plain(digits).replace(/^(-?)0\./, "$1.");
  const most = [6, 5, 4, 3, 2].flatMap((digits) => [plain(digits), scientific(digits)]);
  const least = [bare(2), plain(1), scientific(1), bare(1)];
  const fitting = [...most, ...least].find((text) => text.length <= room);
  if (fitting !== undefined) return fitting;
  return tidy(value.toExponential(0));
}
