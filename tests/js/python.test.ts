/** What the tokenizer colours, and that it loses nothing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { indexOfColumn, segments, tokenize } from "../../static/src/model/python";
import { linesOf } from "../../static/src/model/outline";

const kinds = (line: string): string[] =>
  (tokenize(line)[0] ?? []).filter((t) => t.kind !== "plain").map((t) => `${t.kind}:${t.text}`);

test("keywords, constants, numbers, strings and comments are told apart", () => {
  assert.deepEqual(kinds("for i in range(1_000, 2.5e-3): x = f'{i}' # note"), [
    "keyword:for",
    "keyword:in",
    "builtin:range",
    "number:1_000",
    "number:2.5e-3",
    "string:f'{",
    "string:}'",
    "comment:# note",
  ]);
  assert.deepEqual(kinds("y = x.to(None)"), ["constant:None"]);
});

test("a digit in a name is no number, a dot before a method is none either", () => {
  assert.deepEqual(kinds("x2 = conv1d.t()"), []);
  assert.deepEqual(kinds("x = 12. + .5"), ["number:12.", "number:.5"]);
});

test("the name after def and class is a definition", () => {
  assert.deepEqual(kinds("def forward(self):"), ["keyword:def", "definition:forward", "builtin:self"]);
});

test("a triple-quoted string goes over lines and a quote inside it does not end it", () => {
  const lines = tokenize('s = """a "b"\nc"""\nx = 1');

  assert.deepEqual(lines[1], [{ text: 'c"""', kind: "string" }]);
  assert.equal(lines[2]?.at(-1)?.kind, "number");
});

test("an unfinished string ends with its line", () => {
  assert.deepEqual(kinds("x = 'abc"), ["string:'abc"]);
  assert.equal(tokenize("x = 'abc\ny = 1")[1]?.at(-1)?.kind, "number");
});

for (const source of ["", "\n", "x = 1\r\ny = '\\'\r\n", "变量 = torch.ones(2)  # 注释", "a\tb\u{1f600}", '"""', "\\"]) {
  test(`nothing is lost: ${JSON.stringify(source)}`, () => {
    assert.deepEqual(
      tokenize(source).map((tokens) => tokens.map((token) => token.text).join("")),
      linesOf(source),
    );
  });
}

test("a column counts characters, also where JavaScript counts two", () => {
  assert.equal(indexOfColumn("s = '😀'; x", 7), 8);
});

test("marks cut tokens and name the pieces they cover", () => {
  const pieces = segments([{ text: "abcdef", kind: "plain" }], [{ from: 2, to: 4, name: "fault" }]);

  assert.deepEqual(
    pieces.map((piece) => [piece.text, piece.marks.join()]),
    [["ab", ""], ["cd", "fault"], ["ef", ""]],
  );
});

test("what stands in the braces of an f-string is code, its format and doubled braces are not", () => {
  assert.deepEqual(kinds('print(f"{{x}} {len(x):>4} {y!r} {d[1]}")'), [
    "builtin:print",
    'string:f"{{x}} {',
    "builtin:len",
    "string::>4} {",
    "string:!r} {",
    "number:1",
    'string:}"',
  ]);
  assert.deepEqual(kinds('"{len(x)}"'), ['string:"{len(x)}"']);
  assert.deepEqual(kinds('f"{a"'), ['string:f"{a"']);
});

test("a decorator is coloured with its dots, a matrix product is none", () => {
  assert.deepEqual(kinds("@torch.no_grad()"), ["decorator:@", "decorator:torch", "decorator:.", "decorator:no_grad"]);
  assert.deepEqual(kinds("h = x @ W"), []);
  assert.deepEqual(tokenize("h = (x\n  @ W)")[1]?.filter((token) => token.kind !== "plain"), []);
});

test("a built-in is no attribute, no argument and no part of a name", () => {
  assert.deepEqual(kinds("x.sum(max=sum(y), dim=len(z))"), ["builtin:sum", "builtin:len"]);
});

test("match, case and type are keywords only where they head a statement", () => {
  assert.deepEqual(kinds("match x:"), ["keyword:match"]);
  assert.deepEqual(kinds("    case [1, *_]:"), ["keyword:case", "number:1"]);
  assert.deepEqual(kinds("match = x"), []);
  assert.deepEqual(kinds("case(1)"), ["number:1"]);
  assert.deepEqual(kinds("type X = int"), ["keyword:type", "builtin:int"]);
  assert.deepEqual(kinds("y = type(x)"), ["builtin:type"]);
});

test("no text is lost, whatever the program", () => {
  const programs = ['f"""{\n x + 1 !r:{w}}"""\ny = 1', "f'{f\"{1}\"}'", "a = f'{x", "@a.b\n@c(d=1)\ndef e(): ...", "x: int = 0b1_0j", "rb'\\''", "f'{x:{w}.{p}}'"];
  for (const source of programs) {
    const lines = tokenize(source).map((tokens) => tokens.map((token) => token.text).join(""));
    assert.equal(lines.join("\n"), source);
  }
});
