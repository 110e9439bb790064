import assert from "node:assert/strict";
import { test } from "node:test";
import { exactText, itemSize, readValue, sameValue, shortText } from "../../static/src/layout/values";
import rows from "../data/values.json";

type Plain = number | string | boolean | (number | string)[];

const bytesOf = (hex: string) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
const special: Record<string, number> = { nan: Number.NaN, inf: Infinity, "-inf": -Infinity };

function expected(value: Plain): unknown {
  if (Array.isArray(value)) return value.map(expected);
  return typeof value === "string" ? (special[value] ?? BigInt(value)) : value;
}

function comparable(value: unknown): unknown {
  // 2^53 is a number in one place and a bigint in the other; both are exact.
  return typeof value === "bigint" || Math.abs(value as number) >= 2 ** 53 ? String(value) : value;
}

for (const row of rows) {
  test(`bytes of ${row.dtype} mean what torch reads`, () => {
    assert.equal(itemSize(row.dtype), (row.bytes[0] ?? "").length / 2);
    row.bytes.forEach((hex, i) => {
      const value = readValue(bytesOf(hex), 0, row);
      const wanted = expected(row.values[i] as Plain);
      if (Array.isArray(value)) assert.deepEqual(value, wanted);
      else assert.ok(Object.is(comparable(value), comparable(wanted)), `${hex}: ${String(value)} is not ${String(wanted)}`);
    });
  });
}

test("bytes that are not there give no value", () => {
  const as = { dtype: "torch.float32", is_conj: false, is_neg: false };
  assert.equal(readValue(new Uint8Array(6), 4, as), null);
  assert.equal(readValue(new Uint8Array(6), -1, as), null);
  assert.equal(readValue(new Uint8Array(6), 0, { ...as, dtype: "torch.made_up" }), null);
});

test("a float is written as short as names it", () => {
  assert.equal(exactText(Math.fround(0.1), "torch.float32"), "0.1");
  assert.equal(exactText(Math.fround(1 / 3), "torch.float32"), "0.33333334");
  assert.equal(exactText(1 / 3, "torch.float64"), "0.3333333333333333");
  assert.equal(exactText(3, "torch.float32"), "3");
  assert.equal(exactText(-0, "torch.float32"), "-0");
  assert.equal(exactText(Math.fround(1e30), "torch.float32"), "1e30");
  assert.equal(exactText(Number.NaN, "torch.float16"), "nan");
  assert.equal(exactText([1, -2.5], "torch.complex64"), "1-2.5j");
  assert.equal(exactText(true, "torch.bool"), "True");
  assert.equal(exactText(2n ** 63n - 1n, "torch.int64"), "9223372036854775807");
});

test("short text keeps to its room, with as many digits as fit", () => {
  const short = (value: number, room: number) => shortText(value, "torch.float64", room);
  assert.equal(short(0.123456789, 6), "0.1235");
  assert.equal(short(-0.123456789, 6), "-0.123");
  assert.equal(short(123456.789, 7), "123457.");
  assert.equal(short(123456.789, 6), "1.23e5");
  assert.equal(short(1234567.89, 6), "1.23e6");
  assert.equal(short(0.000012345, 6), "1.2e-5");
  assert.equal(short(-1.2345e-20, 7), "-1e-20");
  assert.equal(short(100, 3), "100");
  assert.equal(shortText(2n ** 63n, "torch.int64", 6), "9.2e18");
  for (const value of [Math.PI, -1e-7, 6.02e23, 99999.5, -0.5, 1 / 3]) {
    assert.ok(short(value, 7).length <= 7, short(value, 7));
    assert.ok(Math.abs(Number(short(value, 7)) / value - 1) < 0.06, short(value, 7));
  }
});

test("what is no whole number never looks like one", () => {
  const short = (value: number, room: number) => shortText(value, "torch.float32", room);
  assert.equal(short(Math.fround(-1.126), 5), "-1.13");
  assert.equal(short(Math.fround(-1.126), 4), "-1.1");
  assert.equal(short(Math.fround(-1.126), 3), "-1.");
  assert.equal(short(Math.fround(12.7), 3), "13.");
  assert.equal(short(-1, 2), "-1");
  for (const value of [-1.126, 0.96, 9.99, 1023.5973, 0.0004, 123456.7]) {
    for (let room = 1; room < 8; room++) {
      const text = short(Math.fround(value), room);
      assert.ok(!/^-?\d+$/.test(text), `${value} in ${room}: ${text}`);
    }
  }
});

test("nan equals nan, and 0 differs from -0", () => {
  assert.ok(sameValue(Number.NaN, Number.NaN));
  assert.ok(!sameValue(0, -0));
  assert.ok(sameValue([0, 1], [0, 1]));
  assert.ok(!sameValue([0, 1], [0, 2]));
});
