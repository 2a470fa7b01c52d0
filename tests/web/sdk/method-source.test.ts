import { expect, test } from "vitest";
import { methodSource } from "../../../web/sdk/src/method-source.ts";

class Catch {
  update() {
    return { reward: 0 };
  }
}

test("a method is its class, its name, its text and the first word of the field", () => {
  const source = methodSource(new Catch(), "update", "rewardTerms.food[3]");
  expect(source).toMatchObject({ name: "Catch.update", field: "rewardTerms" });
  expect(source.text).toMatch(/^update\(\) \{/);
});

test("what has no source, no class or a long name fits the wire all the same", () => {
  expect(methodSource(undefined, "create")).toEqual({ name: "create", text: "", field: "" });
  const plain = { update: new Catch().update.bind(null) };
  expect(methodSource(plain, "update")).toEqual({ name: "update", text: "", field: "" });
  const long = { [`C${"x".repeat(300)}`]: class {} };
  const [Long] = Object.values(long);
  expect(methodSource(new Long(), "start").name.length).toBeLessThan(120);
  const large = { update: new Function(`return ${"1+".repeat(9_000)}1`) };
  expect(methodSource(large, "update").text).toHaveLength(4_000);
});
