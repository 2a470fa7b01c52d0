import { socketUrl } from "@attract/worker/connection/socket";
import { expect, test } from "vitest";

test("the websocket's address keeps host, port and prefix of the page, and nothing of its query or fragment", () => {
  expect(socketUrl("http://127.0.0.1:8000/")).toBe("ws://127.0.0.1:8000/ws");
  expect(socketUrl("https://hub.example/user/ann/proxy/8000/")).toBe(
    "wss://hub.example/user/ann/proxy/8000/ws",
  );
  expect(socketUrl("http://192.168.0.7/join.html?x=1#token=secret")).toBe("ws://192.168.0.7/ws");
});
