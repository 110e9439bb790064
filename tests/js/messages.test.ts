/** The browser's formatter passes the table that Python's passes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import en from "../../app/messages/en.json";
import zh from "../../app/messages/zh.json";
import { Messages, formatParts, parse } from "../../static/src/model/messages";
import table from "../data/messages.json";

for (const { message, args, parts } of table.cases) {
  test(`a message becomes its parts: ${message.slice(0, 40)}`, () => {
    const said = formatParts(message, args as Record<string, unknown>, table.lists);

    assert.deepEqual(
      said.map((part) => [part.text, part.style]),
      parts,
    );
  });
}

for (const message of ["{", "{n", "a } b", "{n, plural, one {x}}", "{a b}", "{n, date}", "{n, select, x {y}}"]) {
  test(`a malformed message is refused when read: ${message}`, () => {
    assert.throws(() => parse(message), SyntaxError);
  });
}

test("an unknown id is shown as it is", () => {
  assert.equal(new Messages("en", en).text("no.such.message", { n: 1 }), "no.such.message");
});

for (const [language, catalogue] of Object.entries({ en, zh })) {
  test(`every message of ${language} can be read here too`, () => {
    for (const text of Object.values(catalogue)) assert.ok(parse(text).length > 0, text);
  });
}
