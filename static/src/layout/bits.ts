/**
 * The bits of one number: what each stands for, which bytes hold them, and how a value lies in another dtype.
 *
 * Pure, exact: whole numbers and powers of two, never a rounded decimal. Reading bytes as values is in
 * `values.ts`. Encodings pass a table that torch computed (`tests/data/casts.json`).
 *
 * Source: IEEE 754; torch 2.13, c10/util/Half.h, BFloat16.h, Float8_*.h, whose constructors take a float32,
 * so that a float64 is rounded twice.
 */
import { itemSize, shortDtype, SMALL_FLOATS, type FloatFormat } from "./values";

export type FieldKind = "sign" | "exponent" | "fraction" | "magnitude" | "byte";

/** Bits with one meaning, the most significant first. */
export interface BitField {
  readonly kind: FieldKind;
  readonly bits: string;
}

const FORMATS: Readonly<Record<string, FloatFormat>> = {
  float64: { exponent: 11, fraction: 52, bias: 1023, special: "ieee" },
  float32: { exponent: 8, fraction: 23, bias: 127, special: "ieee" },
  ...SMALL_FLOATS,
};

const PARTS: Readonly<Record<string, string>> = { complex128: "float64", complex64: "float32", complex32: "float16" };

/** Dtypes a number may be looked at in, side by side. */
export const SIDE_BY_SIDE = [
  "float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2",
  "int64", "int32", "int16", "int8", "uint8", "bool",
] as const;

/** The dtype of the real and imaginary parts; null for a dtype that is not complex. */
export function partDtype(dtype: string): string | null {
  return PARTS[shortDtype(dtype)] ?? null;
}

/** Bits of a number whose bytes stand in memory the least significant first. */
export function bitsOf(bytes: Uint8Array): string {
  return [...bytes].reverse().map((byte) => byte.toString(2).padStart(8, "0")).join("");
}

/** The bits of one number of a dtype, cut into what they stand for. */
export function fieldsOf(bytes: Uint8Array, dtype: string): BitField[] {
  const bits = bitsOf(bytes);
  const short = shortDtype(dtype);
  const format = FORMATS[short];
  if (format !== undefined) {
    return [
      { kind: "sign", bits: bits.slice(0, 1) },
      { kind: "exponent", bits: bits.slice(1, 1 + format.exponent) },
      { kind: "fraction", bits: bits.slice(1 + format.exponent) },
    ];
  }
  if (short === "float8_e8m0fnu") return [{ kind: "exponent", bits }];
  if (/^int\d+$/u.test(short)) return [{ kind: "sign", bits: bits.slice(0, 1) }, { kind: "magnitude", bits: bits.slice(1) }];
  if (/^uint\d+$/u.test(short)) return [{ kind: "magnitude", bits }];
  return [{ kind: "byte", bits }];
}

/** How a number follows from its fields. */
export type Meaning =
  | { readonly kind: "normal" | "subnormal"; readonly negative: boolean; readonly exponent: number; readonly fraction: string; readonly digits: number; readonly stored: number; readonly bias: number }
  | { readonly kind: "zero" | "infinite" | "nan" }
  | { readonly kind: "power"; readonly exponent: number; readonly stored: number; readonly bias: number }
  | { readonly kind: "twos"; readonly width: number; readonly negative: boolean; readonly low: string }
  | { readonly kind: "whole" | "truth" | "raw" };

/** Says how the bits of one number make its value. */
export function meaningOf(bytes: Uint8Array, dtype: string): Meaning {
  const short = shortDtype(dtype);
  const bits = bitsOf(bytes);
  const format = FORMATS[short];
  if (format !== undefined) return floatMeaning(bits, format);
  if (short === "float8_e8m0fnu") {
    const stored = Number.parseInt(bits, 2);
    return stored === 255 ? { kind: "nan" } : { kind: "power", exponent: stored - 127, stored, bias: 127 };
  }
  if (/^int\d+$/u.test(short)) return { kind: "twos", width: bits.length, negative: bits.startsWith("1"), low: BigInt(`0b0${bits.slice(1)}`).toString() };
  if (/^uint\d+$/u.test(short)) return { kind: "whole" };
  return { kind: short === "bool" ? "truth" : "raw" };
}

function floatMeaning(bits: string, { exponent: width, fraction: digits, bias, special }: FloatFormat): Meaning {
  const negative = bits.startsWith("1");
  const stored = Number.parseInt(bits.slice(1, 1 + width), 2);
  const fraction = BigInt(`0b${bits.slice(1 + width)}`);
  const top = 2 ** width - 1;
  if (special === "ieee" && stored === top) return { kind: fraction === 0n ? "infinite" : "nan" };
  if (special === "fn" && stored === top && fraction === 2n ** BigInt(digits) - 1n) return { kind: "nan" };
  if (special === "fnuz" && negative && stored === 0 && fraction === 0n) return { kind: "nan" };
  if (stored === 0 && fraction === 0n) return { kind: "zero" };
  const kind = stored === 0 ? "subnormal" : "normal";
  return { kind, negative, exponent: stored === 0 ? 1 - bias : stored - bias, fraction: fraction.toString(), digits, stored, bias };
}

/** What became of a value in another dtype. */
export interface Cast {
  /** Null where C++ leaves the result undefined: out of the range of an integer dtype, or no number. */
  readonly bytes: Uint8Array | null;
  readonly dtype: string;
}

/** The bytes `torch.tensor(value).to(dtype)` has: rounded to the nearest, integers cut off towards zero. */
export function cast(exact: number | bigint, dtype: string): Cast {
  const value = Number(exact);
  const short = shortDtype(dtype);
  const size = itemSize(short) ?? 1;
  const bytes = new Uint8Array(size);
  const at = new DataView(bytes.buffer);
  const format = FORMATS[short];
  if (short === "float64") at.setFloat64(0, value, true);
  else if (short === "float32") at.setFloat32(0, value, true);
  else if (format !== undefined) {
    const bits = smallBits(Math.fround(value), format);
    if (size === 2) at.setUint16(0, bits, true);
    else at.setUint8(0, bits);
  } else if (short === "bool") at.setUint8(0, value === 0 ? 0 : 1);
  else {
    const unsigned = short.startsWith("u");
    const width = BigInt(size * 8);
    const low = unsigned ? 0n : -(2n ** (width - 1n));
    const high = unsigned ? 2n ** width : 2n ** (width - 1n);
    const whole = typeof exact === "bigint" ? exact : Number.isFinite(value) ? BigInt(Math.trunc(value)) : null;
    if (whole === null || whole < low || whole >= high) return { bytes: null, dtype: short };
    let rest = BigInt.asUintN(size * 8, whole);
    for (let i = 0; i < size; i++) {
      bytes[i] = Number(rest & 255n);
      rest >>= 8n;
    }
  }
  return { bytes, dtype: short };
}

/** The pattern of the nearest number of a small format; ties go to the even one. */
function smallBits(value: number, { exponent: width, fraction: digits, bias, special }: FloatFormat): number {
  const signBit = 2 ** (width + digits);
  const top = (2 ** width - 1) * 2 ** digits;
  // The greatest pattern of a number, what stands for none, and what becomes of greater ones: `fn` keeps the greatest.
  const [most, none, beyond] =
    special === "ieee" ? [top - 1, top + 2 ** (digits - 1), top] : special === "fn" ? [top + 2 ** digits - 2, top + 2 ** digits - 1, top + 2 ** digits - 2] : [top + 2 ** digits - 1, signBit, signBit];
  if (Number.isNaN(value)) return special === "ieee" && digits === 2 ? top + 3 : none;
  const sign = value < 0 || Object.is(value, -0) ? signBit : 0;
  const size = Math.abs(value);
  if (size === Infinity) return special === "fnuz" ? none : sign + beyond;
  const exponent = Math.max(size === 0 ? 1 - bias : Math.floor(Math.log2(size)), 1 - bias);
  // log2 may be one off beside a power of two.
  const right = size < 2 ** exponent && exponent > 1 - bias ? exponent - 1 : size >= 2 ** (exponent + 1) ? exponent + 1 : exponent;
  const steps = nearestEven(size / 2 ** (right - digits));
  const bits = steps + (right + bias - 1) * 2 ** digits;
  if (bits > most) return special === "fnuz" ? none : sign + beyond;
  return special === "fnuz" && bits === 0 ? 0 : sign + bits;
}

function nearestEven(value: number): number {
  const low = Math.floor(value);
  const rest = value - low;
  return rest > 0.5 || (rest === 0.5 && low % 2 === 1) ? low + 1 : low;
}

/** A float64 written out to its last decimal: `0.1000000000000000055511151231257827021181583404541015625`. */
export function exactDecimal(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  const at = new DataView(new ArrayBuffer(8));
  at.setFloat64(0, value);
  const bits = at.getBigUint64(0);
  const stored = Number((bits >> 52n) & 2047n);
  const fraction = (bits & ((1n << 52n) - 1n)) | (stored === 0 ? 0n : 1n << 52n);
  const exponent = (stored === 0 ? 1 : stored) - 1075;
  const sign = bits >> 63n === 1n ? "-" : "";
  if (exponent >= 0) return `${sign}${fraction << BigInt(exponent)}`;
  // fraction / 2^n is fraction · 5^n / 10^n.
  const digits = (fraction * 5n ** BigInt(-exponent)).toString().padStart(1 - exponent, "0");
  const [whole, decimals] = [digits.slice(0, digits.length + exponent), digits.slice(digits.length + exponent).replace(/0+$/u, "")];
  return `${sign}${whole}${decimals === "" ? "" : `.${decimals}`}`;
}
