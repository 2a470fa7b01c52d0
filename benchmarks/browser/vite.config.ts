/** Builds the page that the benchmarks measure in; `web/build.mjs` puts it into `benchmarks/built/bench`. */

import path from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

export default defineConfig({
  root: path.dirname(fileURLToPath(import.meta.url)),
  base: "./",
  worker: { format: "es", rolldownOptions: { checks: { pluginTimings: false } } },
  // ONNX Runtime finds its wasm through an explicit `?url` import; pre-bundling would break that.
  optimizeDeps: { exclude: ["onnxruntime-web"] },
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 1500,
    rolldownOptions: { checks: { pluginTimings: false } },
  },
});
