// Builds the front end: static/src and static/css become static/dist.
//
//   node build.mjs           the pages' scripts and styles, minified
//   node build.mjs --tests   tests/js/*.test.ts become build/js-tests/*.test.mjs, for `node --test`
//
// It builds what exists. It does not install anything (tools/frontend.py does) and does not
// check types (tsc does). Names carry no content hash: the server adds `?v=` to its links.
import { build } from "esbuild";
import subsetFont from "subset-font";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { gzipSync } from "node:zlib";

const SRC = "static/src";
const CSS = "static/css";
const DIST = "static/dist";

// Scripts of our own pages share their common parts; a page loads a part only when it needs it.
const PAGES = ["home", "lesson", "playground"];

// One file each, without imports. An exported page carries the embed inside its own HTML; the theme is
// chosen before the first paint, which no module can do.
const STANDALONE = ["embed", "pasted", "more", "theme"];

// Of each font the letters and weights the pages use: half of what the packages hold. What a reader's
// program has beyond them comes from the system's fonts, as Chinese does.
const LETTERS = [
  [0x20, 0x7e],
  [0xa0, 0xff],
]
  .flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, i) => String.fromCodePoint(from + i)))
  .concat(..."–—‘’“”•…‹›€−×÷≤≥≠≈±←→↑↓₀₁₂₃₄₅₆₇₈₉")
  .join("");
const WEIGHTS = { wght: { min: 400, max: 700 } };

// Code is set without ligatures, so their glyphs stay out; figures of equal width are a feature of the text.
const FONTS = {
  "inter.woff2": { package: "inter", file: "inter-latin-wght-normal", noLayoutClosure: false },
  "jetbrains-mono.woff2": { package: "jetbrains-mono", file: "jetbrains-mono-latin-wght-normal", noLayoutClosure: true },
};

const COMMON = {
  bundle: true,
  minify: true,
  target: "es2022",
  legalComments: "none",
  logLevel: "warning",
  metafile: true,
};

/** The entries of a list that exist as TypeScript files. */
function sources(names) {
  return names.map((name) => join(SRC, `${name}.ts`)).filter((path) => existsSync(path));
}

/** Stylesheets that pages link; a name that starts with `_` is only ever imported. */
function stylesheets() {
  if (!existsSync(CSS)) return [];
  return readdirSync(CSS)
    .filter((name) => name.endsWith(".css") && !name.startsWith("_"))
    .map((name) => join(CSS, name));
}

/** Every file of the build with its size, for the size limits that tests hold us to. */
function manifest(results) {
  const outputs = results.flatMap((result) => Object.entries(result.metafile.outputs));
  const files = outputs.map(([path, { imports }]) => {
    const bytes = readFileSync(path);
    return [
      path.slice(DIST.length + 1),
      {
        bytes: bytes.length,
        gzip_bytes: gzipSync(bytes, { level: 9 }).length,
        imports: imports
          .filter((link) => link.kind === "import-statement")
          .map((link) => link.path.slice(DIST.length + 1)),
      },
    ];
  });
  return Object.fromEntries(files.sort(([a], [b]) => (a < b ? -1 : 1)));
}

async function buildPages() {
  rmSync(DIST, { recursive: true, force: true });
  mkdirSync(join(DIST, "fonts"), { recursive: true });
  const results = [];
  const pages = sources(PAGES);
  if (pages.length > 0) {
    results.push(
      await build({
        ...COMMON,
        entryPoints: pages,
        outdir: DIST,
        format: "esm",
        splitting: true,
        chunkNames: "chunks/[name]-[hash]",
      }),
    );
  }
  for (const entry of sources(STANDALONE)) {
    results.push(
      await build({ ...COMMON, entryPoints: [entry], outfile: join(DIST, `${basename(entry, ".ts")}.js`), format: "iife" }),
    );
  }
  const styles = stylesheets();
  if (styles.length > 0) {
    // A url() is written as the browser sees it, beside the built stylesheet: fonts/inter.woff2.
    results.push(
      await build({ ...COMMON, entryPoints: styles, outdir: DIST, external: ["*.woff2", "*.svg", "*.png"] }),
    );
  }
  for (const [name, { package: from, file, noLayoutClosure }] of Object.entries(FONTS)) {
    const font = readFileSync(`node_modules/@fontsource-variable/${from}/files/${file}.woff2`);
    const cut = await subsetFont(font, LETTERS, { targetFormat: "woff2", variationAxes: WEIGHTS, noLayoutClosure });
    writeFileSync(join(DIST, "fonts", name), cut);
  }
  writeFileSync(join(DIST, "manifest.json"), `${JSON.stringify(manifest(results), null, 2)}\n`);
}

async function buildTests() {
  const folder = "tests/js";
  const out = "build/js-tests";
  rmSync(out, { recursive: true, force: true });
  const entries = existsSync(folder)
    ? readdirSync(folder).filter((name) => name.endsWith(".test.ts")).map((name) => join(folder, name))
    : [];
  if (entries.length === 0) throw new Error(`no ${folder}/*.test.ts to build`);
  await build({
    bundle: true,
    entryPoints: entries,
    outdir: out,
    outExtension: { ".js": ".mjs" },
    format: "esm",
    platform: "node",
    target: "node20",
    sourcemap: "inline",
    logLevel: "warning",
  });
}

await (process.argv.includes("--tests") ? buildTests() : buildPages());
