/** What a page is called, and what its adapter is called after it. */

import type { PageWindow } from "attract/page-adapter";
import { NO_TITLE } from "./rules.ts";

/** The page's own title; the default titles of editors and tools are ignored. */
export function titleOf({ document }: PageWindow): string {
  const names: unknown[] = [document.title, document.querySelector("h1")?.textContent];
  const own = names.map((name) => String(name ?? "").trim()).find((name) => !NO_TITLE.test(name));
  return own ?? "the page";
}

/** A page's title may hold anything. */
export function inComment(title: string): string {
  return title.replaceAll("*/", "").replace(/\s+/g, " ").trim();
}

/** "My Flappy!" becomes "MyFlappy-v1". */
export function idOf(title: string): string {
  const words = title.normalize("NFKD").match(/[A-Za-z0-9]+/g) ?? [];
  const name = words
    .map((word) => word[0].toUpperCase() + word.slice(1))
    .join("")
    .slice(0, 40);
  return `${/^[A-Za-z]/.test(name) ? name : `Game${name}`}-v1`;
}
