/** URLs of the API under any prefix, and errors a person can act on. */

import { onlineManager } from "@tanstack/react-query";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  ApiError,
  buildOf,
  describeError,
  episodePath,
  metricsPath,
  policyPath,
  runPath,
  runsPath,
  serverUrl,
  versionIn,
} from "../../../../web/dashboard/src/api/client.ts";

afterEach(() => {
  vi.unstubAllGlobals();
  // It is told of a server that does not answer; the files beside this one share it.
  onlineManager.setOnline(true);
});

describe("serverUrl", () => {
  it.each([
    ["http://127.0.0.1:8000/", "http://127.0.0.1:8000/api/info"],
    ["http://127.0.0.1:8000/index.html#/runs/x", "http://127.0.0.1:8000/api/info"],
    ["https://hub.example/user/me/proxy/8000/", "https://hub.example/user/me/proxy/8000/api/info"],
    [
      "https://hub.example/user/me/proxy/8000/index.html?a=b",
      "https://hub.example/user/me/proxy/8000/api/info",
    ],
  ])("from %s", (base, url) => {
    expect(serverUrl("api/info", base).href).toBe(url);
  });
});

describe("runsPath", () => {
  it("has what a search asks for", () => {
    expect(runsPath({})).toBe("api/runs");
    expect(runsPath({ q: "lr<0.001 tag:a&b", sort: "-return", limit: 5, after: "x" })).toBe(
      "api/runs?q=lr%3C0.001+tag%3Aa%26b&sort=-return&limit=5&after=x",
    );
    expect(runsPath({ q: "", limit: 3 })).toBe("api/runs?limit=3");
  });
});

describe("versionIn", () => {
  it("is the one that the server led to", () => {
    expect(versionIn("http://h/p/api/runs/r/policy/12.onnx")).toBe(12);
    expect(versionIn("http://h/api/runs/r/policy/7.onnx?policy=scout")).toBe(7);
    expect(() => versionIn("http://h/api/runs/r/policy/latest.onnx")).toThrow("latest.onnx");
  });
});

describe("the build of an episode", () => {
  const reference = { name: "g", sha256: "new", url: "games/new.js", has_page: false };
  const asked: string[] = [];
  const serve = (status: number) => {
    asked.length = 0;
    vi.stubGlobal("document", { baseURI: "http://h/" });
    vi.stubGlobal("fetch", async (url: URL) => {
      asked.push(url.href);
      return new Response("", { status });
    });
  };

  it("is the one of its hash where the server has that, else the game's present one", async () => {
    serve(200);
    await expect(buildOf(reference, "old")).resolves.toEqual({
      ...reference,
      sha256: "old",
      url: "games/old.js",
    });
    expect(asked).toEqual(["http://h/games/old.js"]);
    serve(404);
    await expect(buildOf(reference, "old")).resolves.toBe(reference);
  });

  it("is not asked for where it is the present one, or none is known, or the game lives in a page", async () => {
    serve(200);
    for (const sha256 of ["new", null]) expect(await buildOf(reference, sha256)).toBe(reference);
    const page = { ...reference, has_page: true };
    expect(await buildOf(page, "old")).toBe(page);
    expect(asked).toEqual([]);
  });
});

describe("paths", () => {
  it("escape what a run may be called", () => {
    expect(runPath("a/b?c", "/pause")).toBe("api/runs/a%2Fb%3Fc/pause");
    expect(episodePath("a/b", "e?1", "/star")).toBe("api/runs/a%2Fb/episodes/e%3F1/star");
    expect(policyPath("r", 12)).toBe("api/runs/r/policy/12.onnx");
    expect(policyPath("r", "latest")).toBe("api/runs/r/policy/latest.onnx");
    expect(policyPath("r", 12, "scout")).toBe("api/runs/r/policy/12.onnx?policy=scout");
  });

  it("ask for as many points as wanted, of the metrics wanted", () => {
    expect(metricsPath("r", 600)).toBe("api/runs/r/metrics?max_points=600");
    expect(metricsPath("r", 5, { names: ["time/fps", "train/loss"] })).toBe(
      "api/runs/r/metrics?max_points=5&names=time%2Ffps%2Ctrain%2Floss",
    );
  });
});

async function errorOf(answer: () => Response | never): Promise<unknown> {
  vi.stubGlobal("document", { baseURI: "http://h/" });
  vi.stubGlobal("fetch", async () => answer());
  const { api } = await import("../../../../web/dashboard/src/api/client.ts");
  return api.info().then(
    () => expect.fail("expected an error"),
    (error: unknown) => error,
  );
}

describe("errors", () => {
  it("carry the server's words and its fix", async () => {
    const body = JSON.stringify({ error: "a run is going on", fix: "stop it first" });
    const error = await errorOf(() => new Response(body, { status: 409 }));
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ status: 409, message: "a run is going on", fix: "stop it first" });
    expect(describeError(error)).toEqual({ text: "a run is going on", fix: "stop it first" });
  });

  it("are readable when a proxy answers in the server's place", async () => {
    const error = await errorOf(() => new Response("<html>Bad gateway</html>", { status: 502 }));
    expect(error).toMatchObject({ status: 502, message: "The server answered 502.", fix: null });
  });

  it("say so when nobody answers", async () => {
    const error = await errorOf(() => {
      throw new TypeError("Failed to fetch");
    });
    expect(error).toMatchObject({ status: 0, message: "The server does not answer." });
  });
});
