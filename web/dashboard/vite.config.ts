/** Builds the dashboard (index.html) and the host page (join.html); every URL is relative, so any prefix works. */

import path from "node:path";
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const here = path.dirname(fileURLToPath(import.meta.url));

export default defineConfig({
  root: here,
  base: "./",
  plugins: [react()],
  // One file each: a sandbox has nowhere to import from.
  worker: { format: "iife", rolldownOptions: { checks: { pluginTimings: false } } },
  // ONNX Runtime finds its wasm through an explicit `?url` import; pre-bundling would break that.
  optimizeDeps: { exclude: ["onnxruntime-web"] },
  define: { __ATTRACT_BUILD__: JSON.stringify(process.env.ATTRACT_BUILD ?? "dev") },
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    sourcemap: false,
    chunkSizeWarningLimit: 1500,
    rolldownOptions: {
      // A busy machine is no news.
      checks: { pluginTimings: false },
      input: Object.fromEntries(["index", "join"].map((page) => [page, path.join(here, `${page}.html`)])),
    },
  },
});
