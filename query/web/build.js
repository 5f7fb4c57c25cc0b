// Builds the dashboard: types from generated/openapi.json, the map, icons and images, a type check, then dist/.
//
// `python -m deploy.docs.page_sources query/web/generated` writes the inputs before.
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { build } from "esbuild";
import openapiTypescript, { astToString } from "openapi-typescript";
import { writeFont } from "./font.js";
import { icons, writeImages } from "./icons.js";
import { worldPaths } from "./world.js";

const here = (path) => new URL(path, import.meta.url).pathname;

async function generate() {
  const types = await openapiTypescript(new URL("generated/openapi.json", import.meta.url));
  writeFileSync(here("generated/openapi.d.ts"), astToString(types));
  writeFileSync(here("generated/world.json"), JSON.stringify(worldPaths()));
  writeFileSync(here("generated/icons.json"), JSON.stringify(icons()));
  rmSync(here("dist"), { recursive: true, force: true });
  await writeFont(here("generated/first.woff2"));
  writeFileSync(here("generated/images.json"), JSON.stringify(writeImages(here("dist"))));
}

function checkTypes() {
  const command = [here("node_modules/typescript/bin/tsc"), "--project", here("tsconfig.json")];
  const { status } = spawnSync(process.execPath, command, { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}

async function bundle() {
  const { metafile } = await build({
    entryPoints: { main: here("src/main.ts"), page: here("src/styles/page.css"), more: here("src/styles/more.css") },
    outdir: here("dist"),
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    assetNames: "[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    target: "es2022",
    minify: true,
    legalComments: "linked",
    jsx: "automatic",
    jsxImportSource: "preact",
    loader: { ".svg": "dataurl", ".woff2": "file" },
    metafile: true,
  });
  return metafile.outputs;
}

/** The page, which loads the scripts of the first view at once instead of one after the other. */
function writePage(outputs) {
  const paths = Object.keys(outputs);
  const named = (pattern) => paths.find((path) => pattern.test(basename(path)));
  const main = named(/^main-.*\.js$/);
  const first = [named(/^start-.*\.js$/), named(/^overview-.*\.js$/)];
  const preloaded = new Set([main, ...first].flatMap((path) => [path, ...importsOf(outputs, path)]));
  preloaded.delete(main); // the page names it as its script
  const font = named(/^first-.*\.woff2$/);
  const links = [...preloaded].map((path) => `<link rel="modulepreload" href="/${basename(path)}">`);
  links.push(`<link rel="preload" href="/${basename(font)}" as="font" type="font/woff2" crossorigin>`);
  const page = readFileSync(here("src/index.html"), "utf8")
    .replace("{{script}}", basename(main))
    .replace("{{style}}", basename(named(/^page-.*\.css$/)))
    .replace("{{moreStyles}}", basename(named(/^more-.*\.css$/)))
    .replace("{{preloads}}", links.join("\n    "));
  copyFileSync(here("src/icon.svg"), here("dist/icon.svg"));
  writeFileSync(here("dist/index.html"), page);
}

/** The chunks that a script imports at once, and those that they import. */
function importsOf(outputs, path) {
  const imported = outputs[path].imports.filter(({ kind }) => kind === "import-statement");
  return imported.flatMap((each) => [each.path, ...importsOf(outputs, each.path)]);
}

mkdirSync(here("generated"), { recursive: true });
await generate();
checkTypes();
writePage(await bundle());
