/**
 * `npm run build`: makes everything the Python package serves under `backend/attract/web/`.
 *
 *   games/<name>.js, .js.map, games.json   every bundled game, one ES module each
 *   games/<name>.train.yaml                settings that suit it
 *   sdk/                                   the SDK as a package: attract.js to bundle games against, page.js and play.js for
 *                                          pages, types; src/ is its source
 *   templates/                             what `attract new` writes
 *   play/agent.js                          plays an exported policy in a page of one's own; `attract export` copies it
 *   page-games/<name>/                     every bundled game that lives in a page, and game.page.js, its adapter
 *   trained/<name>/                        a trained policy of such a game, its card and a picture
 *   page/                                  page-clock.js, the virtual clock of games that live in a page; page-probe.js,
 *                                          what `attract probe` runs beside one
 *   exported-page/                         the page of `attract export --page`: what is the same for every game
 *   exported-episode/                      the page of `attract export --replay`, likewise
 *   report-page/                           the page of `attract ci --html`, likewise
 *   playwright/                            the npm package for one's own tests in Playwright Test; what `attract ci` writes loads it
 *   bin/esbuild                            the bundler for games of one's own, no Node needed
 *   node-stepper/node-stepper.mjs          the games in Node worker threads, for central inference without browsers
 *   dashboard/                             Vite: index.html (dashboard), join.html (host page), assets, each with its .gz
 *   build.json                             {"build": hash of the web sources}; written last, so its presence means "complete"
 *
 * In a clone also `benchmarks/built/`: bench/, the page that benchmarks measure in, and page-trials.js, what they run
 * beside a page that a game lives in.
 *
 * Each part is made in a staging folder and swapped in whole. Unchanged sources: nothing is done.
 * `--force` builds anyway.
 */

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import {
  chmod,
  copyFile,
  cp,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  writeFile,
} from "node:fs/promises";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import * as esbuild from "esbuild";
import { build as viteBuild } from "vite";

const WEB = path.dirname(fileURLToPath(import.meta.url));
const ROOT = path.dirname(WEB);
const OUT = path.join(ROOT, "backend", "attract", "web");
/** Absent from a source distribution: what measures is not installed. */
const BENCHMARKS = path.join(ROOT, "benchmarks");
const LOCK = path.join(OUT, ".lock");
const LOCK_POLL_MS = 200;
const COMPRESSED = new Set([".html", ".js", ".mjs", ".css", ".svg", ".wasm"]);
/** Smaller files gain nothing. */
const COMPRESSED_BYTES = 1024;
const compress = promisify(gzip);
const run = promisify(execFile);

/** Every file whose content decides what is built of `folder`, as sorted absolute paths. */
async function sourceFiles(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath ?? entry.path, entry.name))
    .filter((file) => !file.split(path.sep).includes("node_modules"));
  return [...files, path.join(ROOT, "package-lock.json")].sort();
}

/** 16 hex digits that change with any source file's name or content. */
async function hashSources(folder = WEB) {
  const hash = createHash("sha256");
  for (const file of await sourceFiles(folder)) {
    hash.update(path.relative(ROOT, file)).update("\0");
    hash.update(await readFile(file)).update("\0");
  }
  return hash.digest("hex").slice(0, 16);
}

/** The build that is there now, or null. */
async function currentBuild(folder = OUT) {
  try {
    return JSON.parse(await readFile(path.join(folder, "build.json"), "utf8")).build;
  } catch {
    return null;
  }
}

/** "CartPole-v1" is shown as "CartPole". */
function titleOf(id) {
  return id.replace(/-v\d+$/, "").replace(/[-_]+/g, " ");
}

/** Bundles `entry` of `web` into one file; `more` are options of esbuild besides those that all scripts share. */
async function bundle(entry, outfile, more = {}) {
  await esbuild.build({
    entryPoints: [path.join(WEB, entry)],
    outfile,
    bundle: true,
    format: "esm",
    target: "es2022",
    logLevel: "warning",
    ...more,
  });
}

/** Modules are strict. A script built from modules must say so, or `this` would be the window. */
const STRICT = { format: "iife", banner: { js: '"use strict";' } };

/** Scripts by the part and the file that they become: entry in `web`, and options of their own. */
const SCRIPTS = {
  sdk: {
    "attract.js": ["sdk/src/index.ts"],
    "page.js": ["sdk/src/page/index.ts"],
    "play.js": ["play/src/index.ts"],
  },
  play: { "agent.js": ["play/src/index.ts", { minify: true }] },
  // What the server puts before the first script of every page that a game lives in, and what looks into one.
  page: {
    // It travels with every page and every exported episode.
    "page-clock.js": ["page-clock/src/index.ts", { ...STRICT, minify: true }],
    "page-probe.js": ["page-probe/src/index.ts", STRICT],
  },
  "node-stepper": { "node-stepper.mjs": ["node-stepper/main.ts", { platform: "node", target: "node20" }] },
};

async function buildScripts(folder, part) {
  for (const [file, [entry, more]] of Object.entries(SCRIPTS[part]))
    await bundle(entry, path.join(folder, file), more);
}

/** Names of the folders of games in a folder of `web`. */
async function gamesIn(place) {
  const entries = await readdir(path.join(WEB, place), { withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory() && entry.name !== "node_modules")
    .map((entry) => entry.name)
    .sort();
}

async function buildGames(folder) {
  const games = [];
  for (const name of await gamesIn("games")) {
    const file = path.join(folder, `${name}.js`);
    await bundle(`games/${name}/game.ts`, file, { sourcemap: true });
    const { default: definition } = await import(pathToFileURL(file).href);
    games.push({ name, title: titleOf(definition.id), id: definition.id });
    // Settings that suit this game, as a user may keep them beside a game of their own.
    await copyIfThere(`games/${name}/game.train.yaml`, path.join(folder, `${name}.train.yaml`));
  }
  await writeFile(path.join(folder, "games.json"), `${JSON.stringify(games, null, 2)}\n`);
}

/** Copies a file or folder of `web`, if there is one. */
async function copyIfThere(from, to) {
  const source = path.join(WEB, from);
  if (existsSync(source)) await cp(source, to, { recursive: true });
}

async function buildSdk(folder) {
  await buildScripts(folder, "sdk");
  await cp(path.join(WEB, "sdk", "src"), path.join(folder, "src"), { recursive: true });
  const tsc = path.join(ROOT, "node_modules", ".bin", "tsc");
  const project = path.join(WEB, "tsconfig.sdk.json");
  await run(tsc, ["-p", project, "--outDir", path.join(folder, "types")]);
  const { version } = JSON.parse(await readFile(path.join(WEB, "sdk", "package.json"), "utf8"));
  const types = (file) => `./types/${file}.d.ts`;
  const manifest = {
    // npm has another package `attract`; projects import this one by the alias "attract".
    name: "attract-mode",
    version,
    description: "What games and pages import that Attract trains agents for",
    license: "MIT",
    type: "module",
    sideEffects: false,
    types: types("sdk/src/index"),
    exports: {
      ".": { types: types("sdk/src/index"), default: "./attract.js" },
      "./page": { types: types("sdk/src/page/index"), default: "./page.js" },
      "./config": { types: types("sdk/src/config") },
      "./play": { types: types("play/src/index"), default: "./play.js" },
    },
  };
  await writeFile(path.join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** One module that needs nothing but Playwright: it holds, as a text, the script that it puts into pages. */
async function buildPlaywright(folder) {
  const name = "attract-playwright";
  const script = path.join(folder, "in-page.js");
  await bundle("playwright/src/in-page.ts", script, { ...STRICT, minify: true });
  await bundle("playwright/src/index.ts", path.join(folder, `${name}.js`), {
    platform: "node",
    external: ["@playwright/test"],
    minify: true,
    define: { PAGE_SCRIPT: JSON.stringify(await readFile(script, "utf8")) },
  });
  await rm(script);
  const types = path.join(folder, "types");
  const tsc = path.join(ROOT, "node_modules", ".bin", "tsc");
  await run(tsc, ["-p", path.join(WEB, "tsconfig.playwright.json"), "--rootDir", WEB, "--outDir", types]);
  const [given, own] = await Promise.all(
    ["types", "index"].map((file) => readFile(path.join(types, "playwright", "src", `${file}.d.ts`), "utf8")),
  );
  // In one file: it is copied beside tests.
  await writeFile(path.join(folder, `${name}.d.ts`), given + own.replace(/^.* from "\.\/.*\n/gm, ""));
  await rm(types, { recursive: true });
  await copyFile(path.join(ROOT, "LICENSE"), path.join(folder, "LICENSE"));
  const { version } = JSON.parse(await readFile(path.join(WEB, "sdk", "package.json"), "utf8"));
  const manifest = {
    name: "attract-rl",
    version,
    description: "Play a browser game in Playwright Test: virtual clock, players, recorded episodes",
    license: "MIT",
    type: "module",
    exports: { "./playwright": { types: `./${name}.d.ts`, default: `./${name}.js` } },
    peerDependencies: { "@playwright/test": ">=1.55" },
  };
  await writeFile(path.join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** A page that `attract export` writes, of what is in the folder of `web` with its name. */
async function buildExported(folder, name) {
  const source = path.join(WEB, name);
  await bundle(`${name}/main.ts`, path.join(folder, "page.js"), { minify: true });
  const head = await readFile(path.join(WEB, "exported-page", "head.html"), "utf8");
  const page = await readFile(path.join(source, "index.html"), "utf8");
  // The comment in place of the head has what the page's policy allows besides.
  const whole = page.replace(/<!-- head: (.*?)-->/, (_, more) => head.trimEnd().replace("{{more}}", more));
  await writeFile(path.join(folder, "index.html"), whole);
  for (const file of await readdir(source))
    if (file.endsWith(".css")) await copyFile(path.join(source, file), path.join(folder, file));
}

/** Games that live in a page: each its page as it is, and its adapter as a module. */
async function buildPageGames(folder) {
  for (const name of await gamesIn("page-games")) {
    const to = path.join(folder, name);
    await cp(path.join(WEB, "page-games", name), to, {
      recursive: true,
      filter: (file) => !/(\.page\.ts|\.md|\.train\.yaml|[\\/]src|[\\/]trained)$/.test(file),
    });
    const main = `page-games/${name}/src/main.js`;
    if (existsSync(path.join(WEB, main)))
      await bundle(main, path.join(to, "main.js"), { minify: true, logLevel: "error" });
    await bundle(`page-games/${name}/game.page.ts`, path.join(to, "game.page.js"), {
      sourcemap: true,
      alias: { "attract/page": path.join(WEB, "sdk", "src", "page", "index.ts") },
    });
    await copyIfThere(`page-games/${name}/game.train.yaml`, path.join(to, "game.train.yaml"));
  }
}

/** Copies each game's card and trained policy. They stay out of a page's own folder, which is exported. */
async function copyTrained(folder) {
  await mkdir(folder, { recursive: true });
  for (const place of ["games", "page-games"])
    for (const name of await gamesIn(place))
      await copyIfThere(`${place}/${name}/trained`, path.join(folder, name));
}

async function copyBundler(folder) {
  await mkdir(folder, { recursive: true });
  const platform = `${process.platform}-${process.arch}`;
  const binary = fileURLToPath(import.meta.resolve(`@esbuild/${platform}/bin/esbuild`));
  await copyFile(binary, path.join(folder, "esbuild"));
  await chmod(path.join(folder, "esbuild"), 0o755);
}

async function buildDashboard(folder, build) {
  process.env.ATTRACT_BUILD = build;
  await viteBuild({
    configFile: path.join(WEB, "dashboard", "vite.config.ts"),
    logLevel: "warn",
    build: { outDir: folder, emptyOutDir: true },
  });
  // The page of a finished run has it to download.
  await buildScripts(folder, "play");
  await compressFiles(folder);
}

/** What the benchmarks run in a browser; it holds parts of the web side, so it is built again with each `build`. */
async function buildBenchmarks(build) {
  const folder = path.join(BENCHMARKS, "built");
  const wanted = `${build}-${await hashSources(path.join(BENCHMARKS, "browser"))}`;
  if ((await currentBuild(folder)) === wanted) return;
  await viteBuild({
    configFile: path.join(BENCHMARKS, "browser", "vite.config.ts"),
    logLevel: "warn",
    build: { outDir: path.join(folder, "bench"), emptyOutDir: true },
  });
  await bundle("../benchmarks/browser/page-trials.ts", path.join(folder, "page-trials.js"), STRICT);
  await writeFile(path.join(folder, "build.json"), `${JSON.stringify({ build: wanted })}\n`);
}

/** Writes a `.gz` beside each file that shrinks. The server sends it to clients that accept gzip, as all browsers do. */
async function compressFiles(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile() && COMPRESSED.has(path.extname(entry.name)))
    .map((entry) => path.join(entry.parentPath ?? entry.path, entry.name));
  for (const file of files) {
    const content = await readFile(file);
    if (content.length >= COMPRESSED_BYTES)
      await writeFile(`${file}.gz`, await compress(content, { level: 9 }));
  }
}

const PARTS = {
  games: buildGames,
  sdk: buildSdk,
  play: (folder) => buildScripts(folder, "play"),
  "exported-page": (folder) => buildExported(folder, "exported-page"),
  "exported-episode": (folder) => buildExported(folder, "exported-episode"),
  "report-page": (folder) => buildExported(folder, "report-page"),
  playwright: buildPlaywright,
  page: (folder) => buildScripts(folder, "page"),
  "page-games": buildPageGames,
  trained: copyTrained,
  templates: (folder) => cp(path.join(WEB, "templates"), folder, { recursive: true }),
  bin: copyBundler,
  "node-stepper": (folder) => buildScripts(folder, "node-stepper"),
  dashboard: buildDashboard,
};

/** Waits until no other build runs; a lock whose process is gone is taken over. */
async function lock() {
  await mkdir(OUT, { recursive: true });
  for (;;) {
    try {
      await mkdir(LOCK);
      await writeFile(path.join(LOCK, "pid"), String(process.pid));
      return;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    const holder = Number(await readFile(path.join(LOCK, "pid"), "utf8").catch(() => "0"));
    if (holder > 0 && !isAlive(holder)) await rm(LOCK, { recursive: true, force: true });
    await new Promise((resolve) => setTimeout(resolve, LOCK_POLL_MS));
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

async function main() {
  const force = process.argv.includes("--force");
  const isCurrent = async () => !force && (await currentBuild()) === (await hashSources());
  if ((await isCurrent()) && !existsSync(BENCHMARKS)) {
    console.log("web build is current");
    return;
  }
  await lock();
  const staging = path.join(OUT, `.staging-${process.pid}`);
  try {
    const build = await hashSources();
    if (await isCurrent()) {
      console.log("web build is current");
    } else {
      const started = performance.now();
      await rm(path.join(OUT, "build.json"), { force: true });
      for (const [part, make] of Object.entries(PARTS)) {
        await make(path.join(staging, part), build);
        await rm(path.join(OUT, part), { recursive: true, force: true });
        await rename(path.join(staging, part), path.join(OUT, part));
      }
      await writeFile(path.join(OUT, "build.json"), `${JSON.stringify({ build })}\n`);
      console.log(`web build ${build} in ${((performance.now() - started) / 1000).toFixed(1)} s`);
    }
    if (existsSync(BENCHMARKS)) await buildBenchmarks(build);
  } finally {
    await rm(staging, { recursive: true, force: true });
    await rm(path.join(LOCK, "pid"), { force: true });
    await rmdir(LOCK).catch(() => undefined);
  }
}

main().catch((error) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
