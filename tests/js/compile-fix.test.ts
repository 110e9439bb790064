/** `torch.compile` on a machine without a compiler: the same program with a backend that needs none. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { withBackend } from "../../static/src/model/compile-fix";
import { fixesOf } from "../../static/src/model/fix";
import { traced } from "./traced";

const ALIKE: readonly (readonly [string, string])[] = [
  ["g = torch.compile(f)", 'g = torch.compile(f, backend="aot_eager")'],
  ["g = torch.compile(f,)", 'g = torch.compile(f, backend="aot_eager")'],
  ["@torch.compile\ndef f(x):\n    return x", '@torch.compile(backend="aot_eager")\ndef f(x):\n    return x'],
  ["    @torch.compile()\n    def f(x): ...", '    @torch.compile(backend="aot_eager")\n    def f(x): ...'],
  ['g = torch.compile(f, backend="inductor", dynamic=True)', 'g = torch.compile(f, backend="aot_eager", dynamic=True)'],
  ["g = torch.compile(\n    f,  # inner, backend='x'\n    mode='default',  # why )\n)", "g = torch.compile(\n    f,  # inner, backend='x'\n    mode='default', backend=\"aot_eager\"  # why )\n)"],
  ["a, b = torch.compile(f), torch.compile(lambda x: x + 1)", 'a, b = torch.compile(f, backend="aot_eager"), torch.compile(lambda x: x + 1, backend="aot_eager")'],
  ["g = torch.compile(wrap(f, backend='cpu'))", "g = torch.compile(wrap(f, backend='cpu'), backend=\"aot_eager\")"],
];

for (const [before, after] of ALIKE) {
  test(`${JSON.stringify(before)} gets a backend that needs no compiler`, () => assert.equal(withBackend(before), after));
}

test("what calls no torch.compile with a backend to change stays as it is", () => {
  for (const source of ['g = torch.compile(f, backend="aot_eager")', "g = torch.compile(f, backend=chosen)", 're.compile("torch.compile(f)")', "x = 1  # torch.compile(f)", "h = torch.compile"]) {
    assert.equal(withBackend(source), null, source);
  }
});

test("only the calls that name the backend that does not exist are changed", () => {
  const source = 'a = torch.compile(f)\nb = torch.compile(f, backend="nvfuser")';
  assert.equal(withBackend(source, "nvfuser"), 'a = torch.compile(f)\nb = torch.compile(f, backend="aot_eager")');
});

test("a program that names an unknown backend is offered with one that runs, and then it runs", () => {
  const source = 'import torch\nf = torch.compile(lambda x: (x * 2).sum(), backend="nvfuser")\nx = torch.ones(2, requires_grad=True)\nf(x).backward()\n';
  const offered = source.replace("nvfuser", "aot_eager");
  const [broken, mended] = traced([[source, "cpu"], [offered, "cpu"]]);
  assert.equal(broken === undefined ? null : fixesOf(broken)[0]?.source, offered);
  assert.equal(mended?.outcome.kind, "finished");
});
