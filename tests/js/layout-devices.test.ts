import assert from "node:assert/strict";
import { test } from "node:test";
import { lanesOf, nextTransfer, occupantOf, storageColours, transfersUntil } from "../../static/src/layout/devices";
import { livesOf } from "../../static/src/layout/lives";
import { bytes, freed, gone, name, storage, tensor, traceOf, view, type SmallStep } from "./small-trace";

const SQUARE = 0;
const TURNED = 1;
const ON_CUDA = 2;
const LONG = 3;
const VIEWS = [view([2, 2], [2, 1]), view([2, 2], [1, 2]), view([2, 2], [2, 1], 0, "cuda:0"), view([1000], [1])];

const lanes = (...steps: SmallStep[]) => lanesOf(livesOf(traceOf(VIEWS, steps)));

test("a loop that makes a tensor a round needs one place", () => {
  const round = (i: number): SmallStep => {
    const old = i === 0 ? [] : [gone(i), freed(i)];
    return { events: [storage(i + 1, 16), tensor(i + 1, SQUARE, i + 1), name("x", i + 1), ...old] };
  };
  // No step ends with two of them: the name lets go of the old one where the new one comes.
  const [cpu] = lanes(...[0, 1, 2, 3].map(round), { events: [] }, { events: [gone(4), freed(4), name("x", null)] });
  assert.deepEqual(cpu?.places.map((place) => place.storages.map(({ id }) => id)), [[1, 2, 3, 4]]);
  const [place] = cpu?.places ?? [];
  assert.ok(place !== undefined);
  assert.equal(occupantOf(place, 0), null);
  assert.equal(occupantOf(place, 3)?.id, 3);
  assert.equal(occupantOf(place, 6)?.id, 4, "a freed storage stays in its place until another takes it");
});

test("storages that are there together have a place each", () => {
  const [cpu] = lanes(
    { events: [storage(1, 16), tensor(1, SQUARE, 1), name("x", 1)] },
    { events: [storage(2, 16), tensor(2, SQUARE, 2), name("y", 2)] },
    { events: [gone(1), freed(1), name("x", null)] },
    { events: [storage(3, 16), tensor(3, SQUARE, 3), name("x", 3)] },
  );
  assert.deepEqual(cpu?.places.map((place) => place.storages.map(({ id }) => id)), [[1, 3], [2]]);
});

test("storages of other forms do not take each other's places", () => {
  const [cpu] = lanes(
    { events: [storage(1, 16), tensor(1, SQUARE, 1), name("x", 1)] },
    { events: [gone(1), freed(1), name("x", null)] },
    { events: [storage(2, 4000), tensor(2, LONG, 2), name("x", 2)] },
  );
  assert.deepEqual(cpu?.places.map((place) => place.kind), ["single", "pixels"]);
});

test("views of one storage keep a mark while they live, and leave it to later ones", () => {
  const { storages } = livesOf(
    traceOf(VIEWS, [
      { events: [storage(1, 16), tensor(1, SQUARE, 1), name("x", 1)] },
      { events: [tensor(2, TURNED, 1), name("y", 2)] },
      { events: [gone(2), name("y", null)] },
      { events: [tensor(3, TURNED, 1), name("z", 3)] },
      { events: [tensor(4, TURNED, 1)] },
    ]),
  );
  const marks = storages[0]?.views.map((life) => [life.name, life.mark]);
  assert.deepEqual(marks, [["x", 1], ["y", 2], ["z", 2], [null, 0]]);
  assert.equal(storages[0]?.line, 1);
});

test("what has no name is a chip, unless no step ends with it", () => {
  const [cpu] = lanes(
    { events: [storage(1, 16), tensor(1, SQUARE, 1), storage(2, 16), tensor(2, SQUARE, 2), gone(2), freed(2)] },
    { events: [storage(3, 16), tensor(3, SQUARE, 3), name("g", 3)] },
  );
  assert.deepEqual(cpu?.chips.map((chip) => chip.storages.map(({ id }) => id)), [[1]]);
  assert.deepEqual(cpu?.places.map((place) => place.storages.map(({ id }) => id)), [[3]]);
});

test("a gradient is called after its leaf, named before or after it came", () => {
  const { storages } = livesOf(
    traceOf(VIEWS, [
      { events: [storage(1, 16), tensor(1, SQUARE, 1), name("w", 1)] },
      { events: [storage(2, 16), tensor(2, SQUARE, 2), tensor(1, SQUARE, 1, 0, 2)] },
    ]),
  );
  assert.equal(storages[1]?.views[0]?.name, "w.grad");
});

test("a place knows how much room the values it will hold need", () => {
  const short = lanes({ events: [storage(1, 16), tensor(1, SQUARE, 1), name("x", 1), bytes(1, [1, 2, 3, 4])] });
  const long = lanes({ events: [storage(1, 16), tensor(1, SQUARE, 1), name("x", 1), bytes(1, [0.1234567, 2, 3, 4])] });
  assert.equal(short[0]?.places[0]?.room, 1);
  assert.equal(long[0]?.places[0]?.room, 6);
});

test("each device has a lane, the CPU first, and copies say where from and to", () => {
  const lives = livesOf(
    traceOf(VIEWS, [
      { events: [storage(1, 16), tensor(1, SQUARE, 1), name("x", 1)] },
      {
        events: [
          storage(2, 16, "cuda:0"), tensor(2, ON_CUDA, 2),
          { kind: "transfer", source: 1, target: 2, source_device: "cpu", target_device: "cuda:0", nbytes: 16 }, name("g", 2),
        ],
      },
    ]),
  );
  assert.deepEqual(lanesOf(lives).map((lane) => lane.device), ["cpu", "cuda:0"]);
  const coming = nextTransfer(lives, "cuda:0", 1);
  assert.deepEqual([coming?.line, coming?.sourceName, coming?.targetName, coming?.from, coming?.to, coming?.nbytes], [2, "x", "g", "cpu", "cuda:0", 16]);
  assert.equal(nextTransfer(lives, "cuda:0", 2), null);
  assert.equal(transfersUntil(lives, 1).length, 0);
  assert.equal(transfersUntil(lives, 2).length, 1);
  assert.deepEqual([...storageColours(lives)], [[1, 1], [2, 2]]);
});
