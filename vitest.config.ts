import { existsSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { playwright } from "@vitest/browser-playwright";
import { defineConfig } from "vitest/config";

/** A Chromium of the system: the setting, else the first on the PATH, else Playwright's own. */
function systemChromium(): string | undefined {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
  const folders = (process.env.PATH ?? "").split(path.delimiter).filter((folder) => folder !== "");
  for (const name of names) {
    for (const folder of [...folders, "/usr/bin"]) {
      const file = path.join(folder, name);
      if (existsSync(file)) return file;
    }
  }
  return undefined;
}

const CHROMIUM_SWITCHES = [
  "--no-sandbox",
  "--disable-quic",
  "--disable-background-networking",
  "--no-first-run",
  "--disable-component-update",
  "--disable-sync",
  "--js-flags=--expose-gc --expose-statistics",
  "--enable-precise-memory-info",
];

// Vitest leaves one core free, which halves the speed of two. `make test` runs it beside pytest, with one.
const maxWorkers = Number(process.env.VITEST_WORKERS ?? os.availableParallelism());

// Tests in `*.browser.test.ts` need a real Chromium; everything else runs in Node.
export default defineConfig({
  test: {
    maxWorkers,
    tags: [
      {
        name: "long",
        description: "a second way through what a shorter test proves: `make long` runs it",
        // Some take half a minute where nothing else runs.
        timeout: 180_000,
      },
    ],
    projects: [
      {
        test: {
          name: "node",
          environment: "node",
          include: ["tests/web/**/*.test.ts", "tests/benchmarks/**/*.test.ts", "tests/contract/**/*.test.ts"],
          exclude: ["**/*.browser.test.ts", "**/node_modules/**"],
          testTimeout: 30_000,
          // Alone in a process each of 130 files loads the same modules. Files that share one leave nothing behind:
          // what a test stubs it puts back (`unstubGlobals`, `restoreMocks`).
          pool: "threads",
          isolate: false,
          unstubGlobals: true,
          unstubEnvs: true,
          restoreMocks: true,
        },
      },
      {
        worker: { format: "es" },
        // ONNX Runtime finds its wasm through an explicit `?url` import; pre-bundling would break that.
        optimizeDeps: { exclude: ["onnxruntime-web"] },
        test: {
          name: "browser",
          include: ["tests/web/**/*.browser.test.ts"],
          // The root's number is not this project's: one page would play all files one after another.
          maxWorkers,
          testTimeout: 60_000,
          // Only a failure takes as long.
          expect: { poll: { timeout: 20_000 } },
          browser: {
            enabled: true,
            headless: true,
            screenshotFailures: false,
            provider: playwright({
              launchOptions: { executablePath: systemChromium(), args: CHROMIUM_SWITCHES },
            }),
            instances: [{ browser: "chromium" }],
          },
        },
      },
    ],
  },
});
