/** Where an error was thrown, in the game's own files. */

/** The address of a game's module. */
const MODULE = /\/games\/[0-9a-f]{64}\.js/;

/** The frames of the game's own files, those of a page as `js/game.js:12:5`; null: there are none. */
export function gameStack(stack: string | null): string | null {
  const frames: string[] = [];
  for (const line of (stack ?? "").split("\n")) {
    const isPlace = /:\d+:\d+\)?$/.test(line);
    if (!isPlace || line.includes("blob:") || line.includes("/.attract/")) continue;
    // The server knows a module by its address.
    if (MODULE.test(line)) frames.push(line);
    else
      frames.push(
        line.replace(/https?:\/\/[^/]+\/([^?#:]*)(?:[?#][^:]*)?(?=:\d)/, (_, path) => path || "index.html"),
      );
  }
  return frames.length === 0 ? null : frames.join("\n");
}

/** The innermost of them in a page's file, as `js/game.js:12:5`; null: there is none. */
export function pagePlace(stack: unknown): string | null {
  const [innermost = ""] = (typeof stack === "string" ? (gameStack(stack) ?? "") : "").split("\n");
  return MODULE.test(innermost) ? null : (/([^\s(]+:\d+:\d+)\)?$/.exec(innermost)?.[1] ?? null);
}
