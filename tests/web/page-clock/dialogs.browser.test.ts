import { expect, test } from "vitest";
import { alerts, answerDialogs, forgetAlerts } from "../../../web/page-clock/src/dialogs.ts";
import { blankPage } from "../../support/blank-page.ts";
import { heldPage, type Page } from "./held-page.ts";

test("what a page says in dialogs is kept for an episode, and answered without anybody", () => {
  const { run, clock, page } = heldPage();
  expect(run(`[alert("Game over"), alert(), confirm("Again?"), prompt("Name?"), alert(7)]`)).toEqual([
    ...[undefined, undefined, true, null, undefined],
  ]);
  expect(alerts(page)).toEqual(["Game over", "", "Again?", "Name?", "7"]);
  run("for (let i = 0; i < 50; i++) alert(i)");
  expect([alerts(page).length, alerts(page).at(-1)]).toEqual([20, "49"]);
  clock.clearStorage();
  expect(alerts(page)).toEqual([]);
});

test("the browser's own dialogs come back, and a page that nobody answers has said nothing", () => {
  const page = blankPage() as Page;
  forgetAlerts(page);
  expect(alerts(page)).toEqual([]);
  const { alert, confirm } = page;
  const giveBack = answerDialogs(page);
  page.alert("over");
  expect([alerts(page), page.alert === alert]).toEqual([["over"], false]);
  giveBack();
  expect([page.alert === alert, page.confirm === confirm]).toEqual([true, true]);
});
