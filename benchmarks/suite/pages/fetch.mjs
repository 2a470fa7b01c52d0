/**
 * Fetches a public page game at the commit that its adapter was written for, and lays the adapter beside it:
 *
 *     node benchmarks/suite/pages/fetch.mjs flappy /tmp/flappy
 *     attract train /tmp/flappy/game.page.ts --headless --total-steps 200000
 *
 * The games are not ours and not in this repository; git is asked for them.
 */

import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** `files`: what of the repository is needed, and where it belongs; without them, all of it. */
const SOURCES = {
  "t-rex": {
    repository: "wayou/t-rex-runner",
    commit: "5455bfa408ec6b707c7300ff194b7390733a766d",
  },
  2048: {
    repository: "gabrielecirulli/2048",
    commit: "478b6ec346e3787f589e4af751378d06ded4cbbc",
  },
  tetris: {
    repository: "jakesgordon/javascript-tetris",
    commit: "e5c0c42f7dac0f3514a55eff656c6e22e95d68ed",
  },
  flappy: {
    repository: "kaplayjs/kaplay",
    commit: "e1b28457b4e062699d8c40cd4962d7336a936643",
    files: {
      "examples/flappy.js": "flappy.js",
      "examples/fonts/happy_28x36.png": "fonts/happy_28x36.png",
      "examples/fonts/happy-o_36x45.png": "fonts/happy-o_36x45.png",
      "examples/sprites/bean.png": "sprites/bean.png",
      ...Object.fromEntries(
        ["score", "wooosh", "hit", "off"].map((name) => [
          `examples/sounds/${name}.mp3`,
          `sounds/${name}.mp3`,
        ]),
      ),
    },
    // An example has no page, and the engine is a development dependency of ours.
    page: '<!doctype html><title>Flappy</title><body><script src="kaplay.js"></script><script src="flappy.js"></script>\n',
    engine: "../../../node_modules/kaplay/dist/kaplay.js",
  },
};

const here = (path) => new URL(path, import.meta.url);

/** Fills `out` with the game. Throws: there is no such game, `out` is there, or git cannot have it. */
function fetchGame(name, out) {
  const source = SOURCES[name];
  if (source === undefined || out === undefined)
    throw new Error(`usage: fetch.mjs ${Object.keys(SOURCES).join("|")} NEW_FOLDER`);
  if (existsSync(out)) throw new Error(`${out} is there already: name a new folder`);
  const clone = mkdtempSync(join(tmpdir(), "page-game-"));
  const git = (...words) =>
    execFileSync("git", ["-C", clone, ...words], { stdio: ["ignore", "ignore", "inherit"] });
  try {
    git("init", "--quiet");
    git("remote", "add", "origin", `https://github.com/${source.repository}`);
    // Files are fetched as they are checked out: of an engine's repository a few are needed.
    git("fetch", "--quiet", "--depth=1", "--filter=blob:none", "origin", source.commit);
    git("checkout", "--quiet", "FETCH_HEAD", "--", ...Object.keys(source.files ?? { ".": "." }));
    rmSync(join(clone, ".git"), { recursive: true });
    for (const [from, to] of Object.entries(source.files ?? { ".": "." }))
      cpSync(join(clone, from), join(out, to), { recursive: true });
  } finally {
    rmSync(clone, { recursive: true, force: true });
  }
  if (source.page !== undefined) writeFileSync(join(out, "index.html"), source.page);
  if (source.engine !== undefined) cpSync(here(source.engine), join(out, "kaplay.js"));
  cpSync(here(`./${name}.page.ts`), join(out, "game.page.ts"));
}

try {
  fetchGame(process.argv[2], process.argv[3]);
  console.log(`${process.argv[3]} has the page and game.page.ts`);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
