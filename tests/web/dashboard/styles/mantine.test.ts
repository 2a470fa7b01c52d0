/** The page has the styles of exactly the components of Mantine that it uses, and of those that they are made of. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

const ROOT = path.resolve(import.meta.dirname, "../../../..");
const SOURCES = path.join(ROOT, "web/dashboard/src");
const MANTINE = path.join(ROOT, "node_modules/@mantine/core");
/** What all components stand on. */
const FOUNDATION = ["baseline", "default-css-variables", "global"];

const namesIn = (list: string): string[] =>
  list
    .split(",")
    .map((name) =>
      name
        .replace(/^\s*type\s.*/, "")
        .replace(/\sas\s.*/, "")
        .trim(),
    )
    .filter((name) => name !== "");

/** Names that the dashboard imports from Mantine. */
function used(): string[] {
  const files = readdirSync(SOURCES, { recursive: true, encoding: "utf8" }).filter((file) =>
    /\.tsx?$/.test(file),
  );
  const names = files.flatMap((file) => {
    const text = readFileSync(path.join(SOURCES, file), "utf8");
    return [...text.matchAll(/import \{([^}]*)\} from "@mantine\/core"/g)].flatMap(([, list]) =>
      namesIn(list),
    );
  });
  return [...new Set(names)];
}

/** Each name that Mantine exports, and the module it comes from. */
function modules(): Map<string, string> {
  const index = readFileSync(path.join(MANTINE, "esm/index.mjs"), "utf8");
  const found = new Map<string, string>();
  for (const [, list, from] of index.matchAll(/import \{([^}]*)\} from "([^"]+)"/g))
    for (const name of namesIn(list)) found.set(name, path.join(MANTINE, "esm", from));
  return found;
}

/** Names of the style sheets of a module and of all that it imports. */
function stylesOf(module: string, seen: Set<string>): string[] {
  if (seen.has(module)) return [];
  seen.add(module);
  const name = /([^/\\]+)\.module\.mjs$/.exec(module)?.[1];
  if (name !== undefined) return existsSync(path.join(MANTINE, "styles", `${name}.css`)) ? [name] : [];
  const text = readFileSync(module, "utf8");
  return [...text.matchAll(/from "(\.[^"]+)"/g)].flatMap(([, from]) =>
    stylesOf(path.resolve(path.dirname(module), from), seen),
  );
}

const imported = [
  ...readFileSync(path.join(SOURCES, "styles/mantine.ts"), "utf8").matchAll(
    /import "@mantine\/core\/styles\/([\w-]+)\.css"/g,
  ),
].map(([, name]) => name);

test("every component that is used has its style sheet, and nothing else has", () => {
  const known = modules();
  const seen = new Set<string>();
  const needed = used().flatMap((name) => {
    const module = known.get(name);
    expect(module, `@mantine/core exports no ${name}`).toBeDefined();
    return stylesOf(module as string, seen);
  });
  // A component's own sheet is found by its name too, wherever Mantine keeps the module.
  for (const name of used()) if (existsSync(path.join(MANTINE, "styles", `${name}.css`))) needed.push(name);
  expect(needed.length).toBeGreaterThan(10);
  expect([...imported].sort(), "import them in web/dashboard/src/styles/mantine.ts").toEqual(
    [...new Set([...FOUNDATION, ...needed])].sort(),
  );
});

test("they stand in Mantine's own order, in which later ones overrule earlier ones", () => {
  const all = readFileSync(path.join(MANTINE, "styles.css"), "utf8");
  const places = imported.map((name) => {
    const sheet = readFileSync(path.join(MANTINE, `styles/${name}.css`), "utf8");
    return all.indexOf(sheet.trim().slice(0, 200));
  });
  expect(places.every((place) => place >= 0)).toBe(true);
  expect(places).toEqual([...places].sort((a, b) => a - b));
});

test("no file brings all of Mantine's styles", () => {
  const files = readdirSync(SOURCES, { recursive: true, encoding: "utf8" }).filter((file) =>
    /\.tsx?$/.test(file),
  );
  for (const file of files)
    expect(readFileSync(path.join(SOURCES, file), "utf8"), file).not.toContain("@mantine/core/styles.css");
});
