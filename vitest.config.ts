import { defineConfig } from "vitest/config";

// Tests in `*.browser.test.ts` need a real Chromium; everything else runs in Node.
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "node",
          environment: "node",
          include: ["tests/web/**/*.test.ts", "tests/contract/**/*.test.ts"],
          exclude: ["**/*.browser.test.ts", "**/node_modules/**"],
          testTimeout: 30_000,
        },
      },
    ],
  },
});
