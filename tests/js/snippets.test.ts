/** Lines that put a player into other people's pages, and the names of what is saved. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { linkToPair, readPair } from "../../static/src/model/pair-link";
import { linkTo, readLink } from "../../static/src/model/link";
import { fileName, snippet } from "../../static/src/share/snippets";

const given = { frame: 'https://example.org/embed/v1/a.b?step=7&view="', page: "https://example.org/playground?lang=en#z=a(b)", title: 'A "view" [of] <x>' };

test("HTML is escaped, and asks for nothing that hosts take away", () => {
  const html = snippet("html", given);
  assert.match(html, /^<iframe src="https:\/\/example\.org\/embed\/v1\/a\.b\?step=7&amp;view=&quot;" width="100%" height="420" title="A &quot;view&quot; \[of\] &lt;x>" loading="lazy" allowfullscreen><\/iframe>$|&lt;x&gt;/);
  assert.ok(!html.includes("style="));
});

test("Markdown's brackets are escaped, and the link is the page's", () => {
  assert.equal(snippet("markdown", given), '[A "view" \\[of\\] <x>](https://example.org/playground?lang=en#z=a%28b%29)');
});

test("Jupyter's line is Python", () => {
  assert.match(snippet("jupyter", given), /^from IPython\.display import IFrame\nIFrame\("https:.*view=\\""/);
});

test("a saved file says what it is of", () => {
  assert.equal(fileName("memory", 7, "svg"), "tensor-anatomy-memory-step-7.svg");
  assert.equal(fileName("trace", null, "json"), "tensor-anatomy-trace.json");
});

const long = Array.from({ length: 700 }, (_, i) => `x${i} = torch.randn(${i % 9}, ${(i * 7) % 11})  # ${((i * 2654435761) % 4294967296).toString(36)}`).join("\n");

test("a program of 20 kB comes back from its address, which servers and browsers still take", async () => {
  const source = long.slice(0, 20_000);
  const hash = await linkTo({ source, seed: 3, device: "simulated-cuda" }, 12);
  assert.ok(hash.length < 16_000, String(hash.length));
  assert.deepEqual(await readLink(hash), { source, seed: 3, device: "simulated-cuda", step: 12 });
});

test("two programs come back from one address, each with its device and seed", async () => {
  const left = { source: "x = 1\n# 张量", seed: 0, device: "cpu" } as const;
  const right = { source: long, seed: 9, device: "auto" } as const;
  assert.deepEqual(await readPair(await linkToPair(left, right, 4)), { left, right, row: 4 });
  assert.equal(await readPair("#z=AAAA&z2=AAAA"), null);
});
