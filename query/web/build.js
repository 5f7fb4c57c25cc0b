// Builds the dashboard: types from generated/openapi.json, the map, a type check, then dist/.
//
// `python -m deploy.docs.page_sources query/web/generated` writes the inputs before.
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { build } from "esbuild";
import openapiTypescript, { astToString } from "openapi-typescript";
import { worldPaths } from "./world.js";

const here = (path) => new URL(path, import.meta.url).pathname;

async function generate() {
  const types = await openapiTypescript(new URL("generated/openapi.json", import.meta.url));
  writeFileSync(here("generated/openapi.d.ts"), astToString(types));
  writeFileSync(here("generated/world.json"), JSON.stringify(worldPaths()));
}

function checkTypes() {
  const command = [here("node_modules/typescript/bin/tsc"), "--project", here("tsconfig.json")];
  const { status } = spawnSync(process.execPath, command, { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}

async function bundle() {
  rmSync(here("dist"), { recursive: true, force: true });
  const { metafile } = await build({
    entryPoints: { main: here("src/main.tsx"), page: here("src/styles/page.css") },
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
    loader: { ".svg": "dataurl" },
    metafile: true,
  });
  return Object.keys(metafile.outputs).map((path) => basename(path));
}

function writePage(names) {
  const named = (pattern) => names.find((name) => pattern.test(name));
  const page = readFileSync(here("src/index.html"), "utf8")
    .replace("{{script}}", named(/^main-.*\.js$/))
    .replace("{{style}}", named(/^page-.*\.css$/));
  copyFileSync(here("src/icon.svg"), here("dist/icon.svg"));
  writeFileSync(here("dist/index.html"), page);
}

mkdirSync(here("generated"), { recursive: true });
await generate();
checkTypes();
writePage(await bundle());
