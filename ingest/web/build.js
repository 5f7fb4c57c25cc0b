// Bundles and minifies src/ into dist/: each script plain, gzip and brotli, and manifest.json with their hashes.
import { createHash } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "esbuild";
import { minify } from "terser";

// Each script with the route that takes what it sends.
const SCRIPTS = {
  tidemark: "track?website_id=",
  "tidemark-vitals": "vitals?client_id=",
  "tidemark-errors": "errors?client_id=",
  "tidemark-performance": "",
  "tidemark-engagement": "engagement?client_id=",
  "tidemark-downloads": "track?website_id=",
  "tidemark-404": "track?website_id=",
};
const here = (path) => new URL(path, import.meta.url).pathname;

async function bundled(name, route) {
  const extra = name.slice("tidemark-".length);
  const tag = extra ? `script[data-${extra}],script[src*=${name}]` : "[data-website-id]";
  const { outputFiles } = await build({
    entryPoints: [here(`src/${name}.js`)],
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2020",
    legalComments: "none",
    define: { ROUTE: JSON.stringify(route), TAG: JSON.stringify(tag) },
    write: false,
  });
  // esbuild bundles; terser then saves some 20 bytes more, gzipped.
  const { code } = await minify(outputFiles[0].text, { ecma: 2020, compress: { passes: 3 } });
  return Buffer.from(code);
}

// The licence of web-vitals asks to be named; a comment of a line does it.
const NOTES = { "tidemark-vitals": "/* with web-vitals, Apache-2.0 */\n" };

function encoded(plain) {
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: plain.length,
  };
  return {
    "": plain,
    ".gz": gzipSync(plain, { level: 9 }),
    ".br": brotliCompressSync(plain, { params }),
  };
}

function described(plain, files) {
  const digest = (name, encoding) => createHash(name).update(plain).digest(encoding);
  const sizes = Object.fromEntries(Object.entries(files).map(([end, data]) => [end, data.length]));
  return {
    hash: digest("sha256", "hex").slice(0, 16),
    integrity: `sha384-${digest("sha384", "base64")}`,
    sizes,
  };
}

rmSync(here("dist"), { recursive: true, force: true });
mkdirSync(here("dist"));
const manifest = {};
for (const [name, route] of Object.entries(SCRIPTS)) {
  const plain = Buffer.concat([Buffer.from(NOTES[name] ?? ""), await bundled(name, route)]);
  const files = encoded(plain);
  for (const [end, data] of Object.entries(files)) writeFileSync(here(`dist/${name}.js${end}`), data);
  manifest[name] = described(plain, files);
}
writeFileSync(here("dist/manifest.json"), JSON.stringify(manifest, null, 2) + "\n");
