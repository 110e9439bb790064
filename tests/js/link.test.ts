/** A program goes into an address and comes back. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { carriesProgram, linkTo, readLink } from "../../static/src/model/link";
import { plain } from "../../static/src/model/program";

for (const source of ["", "x = 1\n", "# 张量 😀\r\n\ttorch\u0000", "x = torch.ones(2)\n".repeat(3000)]) {
  test(`a program of ${source.length} characters comes back as it was`, async () => {
    const hash = await linkTo(plain(source), 7);

    assert.match(hash, /^#z=[\w-]*&step=7$/);
    assert.deepEqual(await readLink(hash), { source, step: 7, seed: 0, device: "auto" });
  });
}

test("a program may stand in the address as it is, a plus sign is a plus sign", async () => {
  assert.deepEqual(await readLink("#code=a+b%20%3D%201"), { source: "a+b = 1", step: null, seed: 0, device: "auto" });
  assert.ok(carriesProgram("#step=2&code=x"));
  assert.ok(!carriesProgram("#step=2"));
});

test("steps of Python Tutor's addresses count from 0, ours from 1", async () => {
  assert.equal((await readLink("#code=x&curInstr=6")).step, 7);
  assert.equal((await readLink("#code=x&step=-1")).step, null);
});

for (const hash of ["#z=!!!", "#z=AAAA", "#z=_____w"]) {
  test(`what was damaged on the way is no program: ${hash}`, async () => {
    assert.equal((await readLink(hash)).source, null);
  });
}

test("a small address cannot unpack to a huge program", async () => {
  const bomb = await linkTo(plain("a".repeat(3_000_000)), null);

  assert.ok(bomb.length < 10_000);
  assert.equal((await readLink(bomb)).source, null);
});

test("a seed goes with the program it belongs to, and one that is no number is none", async () => {
  const hash = await linkTo({ source: "torch.rand(2)", seed: 41, device: "cpu" }, 3);

  assert.match(hash, /&seed=41&device=cpu&step=3$/);
  assert.deepEqual(await readLink(hash), { source: "torch.rand(2)", step: 3, seed: 41, device: "cpu" });
  assert.equal((await readLink("#code=x&seed=1e9")).seed, 0);
});

test("an address that asks for a device there is no such choice of asks for none", async () => {
  assert.equal((await readLink("#code=x&device=simulated-cuda")).device, "simulated-cuda");
  assert.equal((await readLink("#code=x&device=tpu")).device, "auto");
});
