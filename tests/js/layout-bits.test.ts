import assert from "node:assert/strict";
import { test } from "node:test";
import { bitsOf, cast, exactDecimal, fieldsOf, meaningOf } from "../../static/src/layout/bits";
import { itemSize, readValue } from "../../static/src/layout/values";
import casts from "../data/casts.json";
import stored from "../data/values.json";

const hex = (bytes: Uint8Array | null) => (bytes === null ? null : Buffer.from(bytes).toString("hex"));
// JSON has no -0.
const valueOf = (row: { value: number; hex: string }) => (row.hex.startsWith("-0x0.0") ? -0 : row.value);

for (const dtype of Object.keys(casts[0]?.bytes ?? {})) {
  test(`a value lies in ${dtype} as torch stores it`, () => {
    for (const row of casts) {
      const expected = (row.bytes as Record<string, string | null>)[dtype];
      assert.equal(hex(cast(valueOf(row), dtype).bytes), expected, `${row.value} in ${dtype}`);
    }
  });
}

test("what is no number keeps saying so", () => {
  for (const dtype of ["float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz"]) {
    const { bytes } = cast(Number.NaN, dtype);
    assert.ok(bytes !== null && Number.isNaN(readValue(bytes, 0, { dtype, is_conj: false, is_neg: false })), dtype);
  }
  assert.equal(cast(Infinity, "int32").bytes, null);
});

for (const row of stored) {
  if (!row.dtype.startsWith("torch.float") && !row.dtype.startsWith("torch.bfloat") && !row.dtype.includes("int")) continue;
  test(`the fields of each number make its value: ${row.dtype}`, () => {
    for (const piece of row.bytes) {
      const bytes = Uint8Array.from(Buffer.from(piece, "hex"));
      const fields = fieldsOf(bytes, row.dtype);
      assert.equal(fields.map(({ bits }) => bits).join(""), bitsOf(bytes));
      assert.equal(bitsOf(bytes).length, 8 * (itemSize(row.dtype) ?? 0));
      const value = readValue(bytes, 0, { dtype: row.dtype, is_conj: false, is_neg: false });
      assert.equal(computed(bytes, row.dtype), value === null ? null : Number(value));
    }
  });
}

/** The sum that the bytes view writes out. */
function computed(bytes: Uint8Array, dtype: string): number | null {
  const meaning = meaningOf(bytes, dtype);
  const bits = bitsOf(bytes);
  switch (meaning.kind) {
    case "normal": return (meaning.negative ? -1 : 1) * (1 + Number(meaning.fraction) / 2 ** meaning.digits) * 2 ** meaning.exponent;
    case "subnormal": return (meaning.negative ? -1 : 1) * (Number(meaning.fraction) / 2 ** meaning.digits) * 2 ** meaning.exponent;
    case "zero": return bits.startsWith("1") ? -0 : 0;
    case "infinite": return bits.startsWith("1") ? -Infinity : Infinity;
    case "nan": return Number.NaN;
    case "power": return 2 ** meaning.exponent;
    case "twos": return Number(BigInt(meaning.low) - (meaning.negative ? 2n ** BigInt(meaning.width - 1) : 0n));
    case "whole": return Number(BigInt(`0b${bits}`));
    default: return null;
  }
}

test("a float is written out to its last decimal", () => {
  assert.equal(exactDecimal(0.1), "0.1000000000000000055511151231257827021181583404541015625");
  assert.equal(exactDecimal(Math.fround(0.1)), "0.100000001490116119384765625");
  assert.equal(exactDecimal(-1.5), "-1.5");
  assert.equal(exactDecimal(2 ** 60), "1152921504606846976");
  assert.equal(exactDecimal(5e-324).length, 1076);
  assert.equal(exactDecimal(0), "0");
  assert.equal(exactDecimal(-0), "-0");
  for (const { value } of casts) assert.equal(Number(exactDecimal(value)), value);
});
