/**
 * A trace as it travels → a trace. Twin of `unpack` in `app/schema/packing.py`, which says how it is packed.
 *
 * What is not packed comes back as it is: recorded traces are short, and embeds carry no reader of packed ones.
 */
import type { PackedTrace, Table, Trace } from "../schema/trace.gen";

type Values = readonly unknown[];
type Fields = readonly (readonly [string, Code])[];
type Code = string | { readonly rows?: Fields; readonly pair?: readonly Code[] };

const record = (names: readonly string[], value: (index: number) => unknown): Record<string, unknown> =>
  Object.fromEntries(names.map((name, index) => [name, value(index)]));

/** The same object with records in place of its tables. */
const untabled = (of: object): object =>
  Object.fromEntries(
    Object.entries(of).map(([name, value]: [string, Partial<Table> | null]) => {
      return [name, value?.rows?.map((values) => record(value.fields ?? [], (i) => values[i])) ?? value];
    }),
  );

/** A drawing, and those folded within it. */
function picture(packed: object): object {
  const found = untabled(packed) as { folded?: object | null; folds?: object[] };
  if (found.folded) found.folded = picture(found.folded);
  if (found.folds) found.folds = found.folds.map(picture);
  return found;
}

export function unpack(sent: unknown): Trace {
  const { packed, fields, shapes, blocks, texts, aside, ...plain } = sent as PackedTrace;
  if (!packed) return sent as Trace;
  const newest: Record<string, number> = { t: 0, s: 0, n: 0, p: 0 };
  let [next, position] = [0, 0];

  const id = (value: unknown, kind: string): number => {
    const [told, last] = [value as number, newest[kind] as number];
    if (told < 0) return (newest[kind] = last - told);
    return told % 2 ? (told - 1) / 2 : last - told / 2;
  };
  const each = (inner: Fields, values: Values): object => record(inner.map(([name]) => name), (i) => read(values[i], inner[i]?.[1]));
  const read = (value: unknown, code: Code = ""): unknown => {
    if (value === null || code === "") return value;
    if (code === "x") return texts[aside[next++] as number];
    if (typeof code !== "string") {
      const { rows: inner, pair } = code;
      return (value as Values[]).map((one) => (inner ? each(inner, one) : one.map((part, i) => read(part, pair?.[i]))));
    }
    if (Array.isArray(value)) return value.map((one) => id(one, code));
    if (typeof value !== "object") return id(value, code);
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, id(one, code)]));
  };

  const steps = plain.steps.map((index, number) => {
    const [values, events] = blocks[index] as PackedTrace["blocks"][number];
    const step = record(fields, (i) => values[i]);
    const first_event = position - (step["first_event"] as number);
    position += events.length;
    const found = events.map(([shape, ...rest]) => {
      const { kind, fields: inner } = shapes[shape as number] as PackedTrace["shapes"][number];
      return { kind, ...each(inner as unknown as Fields, rest) };
    });
    return { ...step, began: number - (step["began"] as number), first_event, events: found };
  });
  return { ...untabled(plain), steps, graph: plain.graph && picture(plain.graph) } as unknown as Trace;
}
