import { expect, test } from "vitest";
import { idOf } from "../../../web/page-probe/src/title.ts";

test("a title becomes an id", () => {
  expect(idOf("2048")).toBe("Game2048-v1");
  expect(idOf("飛")).toBe("Game-v1");
  expect(idOf("Café des Jeux")).toBe("CafeDesJeux-v1");
});
