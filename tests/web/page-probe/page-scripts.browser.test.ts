/** Whether a page runs any script, and why not. */

import { afterEach, expect, test } from "vitest";
import { PageScripts } from "../../../web/page-probe/src/page-scripts.ts";
import type { PageWindow } from "../../../web/sdk/src/page-adapter.ts";
import { blankPage } from "../../support/blank-page.ts";

const urls: string[] = [];

afterEach(() => {
  for (const url of urls.splice(0)) URL.revokeObjectURL(url);
});

/** A page that has loaded, watched from its beginning. */
async function loaded(html: string): Promise<string | undefined> {
  const page = blankPage();
  const scripts = new PageScripts();
  page.document.open();
  scripts.watch(page);
  const arrived = new Promise((done) => page.addEventListener("load", done));
  page.document.write(`<!doctype html><html>${html}</html>`);
  page.document.close();
  await arrived;
  return scripts.whyNone(page as PageWindow)[0];
}

function source(text: string): string {
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  urls.push(url);
  return url;
}

test("a page without a script, or with all of them in a comment, says so", async () => {
  expect(await loaded("<p>Hello</p>")).toBe("runs no script, so there is no game: its HTML holds none");
  const url = source("");
  expect(await loaded(`<h1>Game</h1><!-- the engine <script src="${url}"></script>`)).toMatch(
    /^runs no script, so there is no game: an HTML comment holds scripts; is it closed where it should be\? <!-- the engine/,
  );
});

test("scripts that do not arrive, that browsers do not run, and that are empty are named", async () => {
  const gone = source("");
  URL.revokeObjectURL(gone);
  const why = await loaded(
    `<script src="${gone}"></script><script type="text/babel">play()</script><script> </script>`,
  );
  expect(why).toBe(
    `runs no script, so there is no game: ${gone} did not arrive; ` +
      "a script in its HTML is of type text/babel, which browsers do not run; a script in its HTML is empty",
  );
});

test("one script that runs is enough: its own text, another's, a module, a handler", async () => {
  const gone = source("");
  URL.revokeObjectURL(gone);
  const rest = `<script src="${gone}"></script><!-- <script></script> -->`;
  expect(await loaded(`${rest}<script>window.a = 1</script>`)).toBeUndefined();
  expect(await loaded(`${rest}<script src="${source("window.b = 1")}"></script>`)).toBeUndefined();
  expect(await loaded(`${rest}<script type="module">window.c = 1</script>`)).toBeUndefined();
  expect(await loaded(`${rest}<button onclick="begin()">PLAY</button>`)).toBeUndefined();
});
