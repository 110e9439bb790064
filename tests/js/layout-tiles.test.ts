import assert from "node:assert/strict";
import { test } from "node:test";
import { boxOfTile, figureText, oddIn, shadeOf, tileAt, tileChanged, tilesOf } from "../../static/src/layout/tiles";
import type { TileGrid } from "../../static/src/schema/trace.gen";
import rows from "../data/tiles.json";

const special: Record<string, number> = { inf: Infinity, "-inf": -Infinity };
const number = (value: number | string | null): number => (value === null ? Number.NaN : typeof value === "string" ? (special[value] ?? Number.NaN) : value);
const gridOf = (row: (typeof rows)[number]): TileGrid => row.grid as unknown as TileGrid;

for (const row of rows) {
  test(`the figures of tiles are those that Python reads: ${row.name}`, () => {
    const tiles = tilesOf(gridOf(row));
    assert.equal(tiles.mean.length, row.figures.length);
    row.figures.forEach(([low, high, mean], tile) => {
      assert.ok(Object.is(tiles.low[tile], number(low ?? null)), `low of ${tile}`);
      assert.ok(Object.is(tiles.high[tile], number(high ?? null)), `high of ${tile}`);
      const wanted = number(mean ?? null);
      assert.ok(Object.is(tiles.mean[tile], wanted) || Math.abs((tiles.mean[tile] ?? 0) - wanted) <= Math.abs(wanted) * 1e-12, `mean of ${tile}`);
    });
  });

  test(`a cell lies in the tile into which torch cuts it: ${row.name}`, () => {
    const tiles = tilesOf(gridOf(row));
    for (const [cell, tile] of row.at) assert.equal(tileAt(tiles, cell ?? -1), tile);
    assert.equal(tileAt(tiles, -1), -1);
    assert.equal(tileAt(tiles, row.grid.cells), -1);
  });

  test(`tiles have together every cell once: ${row.name}`, () => {
    const tiles = tilesOf(gridOf(row));
    const counted = new Array<number>(row.figures.length).fill(0);
    for (let cell = 0; cell < row.grid.cells; cell++) counted[tileAt(tiles, cell)] = (counted[tileAt(tiles, cell)] ?? 0) + 1;
    counted.forEach((cells, tile) => {
      const box = boxOfTile(tiles, tile);
      assert.equal(box.cells, cells);
      assert.equal(tileAt(tiles, box.rows[0] * row.grid.columns + box.columns[0]), tile);
    });
  });
}

test("counts of what is not finite are those of the tile", () => {
  const tiles = tilesOf(gridOf(rows.find(({ name }) => name === "not finite") as (typeof rows)[number]));
  const sums = tiles.mean.reduce((sum, _, tile) => [sum[0] + oddIn(tiles, tile)[0], sum[1] + oddIn(tiles, tile)[1]] as [number, number], [0, 0] as [number, number]);
  assert.deepEqual(sums, [91, 2]);
});

test("shades go from the smallest mean to the largest, and there is none without a mean", () => {
  const tiles = tilesOf(gridOf(rows.find(({ name }) => name === "rows") as (typeof rows)[number]));
  assert.equal(shadeOf(tiles, 0), 0);
  assert.equal(shadeOf(tiles, tiles.mean.length - 1), 1);
  const odd = tilesOf(gridOf(rows.find(({ name }) => name === "not finite") as (typeof rows)[number]));
  assert.equal(shadeOf(odd, 0), null);
});

test("a tile has changed where a figure of it has", () => {
  const [before, now] = [tilesOf(gridOf(rows[1] as (typeof rows)[number])), tilesOf({ ...gridOf(rows[1] as (typeof rows)[number]) })];
  assert.equal(before.mean.findIndex((_, tile) => tileChanged(now, before, tile)), -1);
  now.mean[3] = -1;
  assert.deepEqual([2, 3, 4].map((tile) => tileChanged(now, before, tile)), [false, true, false]);
  assert.equal(tileChanged(now, tilesOf(gridOf(rows[0] as (typeof rows)[number])), 3), false); // other tiles
});

test("a figure is written in few characters", () => {
  assert.deepEqual([0.123456, 5, 250000, 1e9, -3.66601, Number.NaN, Infinity].map(figureText), ["0.1235", "5", "250000", "1e9", "-3.666", "–", "> 3.4e38"]);
});
