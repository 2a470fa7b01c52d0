/**
 * The host page: runs workers for the owner of the link and shows their status. No framework, no secure-context API, so that
 * it works on any device over plain http. Headless drivers read `window.attractHost`.
 */

import { type HostHandle, type HostStatus, startHost } from "@attract/worker";
import { parseJoin } from "./join-link.ts";
import { describeStatus } from "./status-text.ts";

declare global {
  interface Window {
    /** The newest status; for headless drivers. */
    attractHost: { status: HostStatus | null; left: boolean };
  }
}

const MAX_WORKERS = 64;
const LINK_KEY = "attract-join";

const element = (id: string) => document.getElementById(id) as HTMLElement;
// The tab remembers its link, so that a reload (after an update of the server, or by mistake) comes back.
const fragment = location.hash !== "" ? location.hash : (sessionStorage.getItem(LINK_KEY) ?? "");
const { token, workers } = parseJoin(fragment, navigator.hardwareConcurrency || 2);
if (token !== null) sessionStorage.setItem(LINK_KEY, fragment);
const { hash } = location;
// Removed at once: not in the history, not in a screenshot.
if (location.hash !== "") history.replaceState(null, "", location.pathname + location.search);

window.attractHost = { status: null, left: false };
let maxWorkers = workers;
/** Workers that the host at `handle` offered the server. */
let offered = 0;
let handle: HostHandle | null = null;

/** Comes to the server with `maxWorkers` workers on offer. */
function start(token: string): void {
  offered = maxWorkers;
  const started = startHost({
    base: new URL(".", document.baseURI),
    token,
    maxWorkers,
    // A host that was stopped has a last word, which is not this page's.
    onStatus: (status) => handle === started && show(status),
    reload: () => {
      // The new page needs the token once more, and removes it again.
      history.replaceState(null, "", location.pathname + location.search + hash);
      location.reload();
    },
  });
  handle = started;
}

function show(status: HostStatus): void {
  window.attractHost.status = status;
  const text = describeStatus(status);
  element("state").textContent = text.state;
  element("state").dataset.state = text.tone;
  element("workers").textContent = `${status.numWorkers} of ${maxWorkers}`;
  element("speed").textContent = Math.round(status.stepsPerSecond).toLocaleString("en-US");
  element("game").textContent = status.game ?? "none yet";
  showError(text.error);
}

function showError(text: string | null): void {
  element("error").hidden = text === null;
  element("error").textContent = text ?? "";
}

function change(token: string, count: number): void {
  maxWorkers = Math.max(1, Math.min(MAX_WORKERS, count));
  if (maxWorkers <= offered) handle?.setMaxWorkers(maxWorkers);
  else {
    // The server gives a host as many workers as it offered when it came: for more it must come again.
    handle?.stop();
    start(token);
  }
  if (window.attractHost.status !== null) show(window.attractHost.status);
}

function leave(): void {
  window.attractHost.left = true;
  // A reload stays away too.
  sessionStorage.removeItem(LINK_KEY);
  handle?.stop();
  handle = null;
  element("state").textContent = "Left. Open the link again to come back.";
  element("state").dataset.state = "left";
  for (const button of document.querySelectorAll("button")) button.disabled = true;
}

if (token === null) {
  element("state").textContent = "No token";
  element("state").dataset.state = "failed";
  showError("Open the whole link, with everything after the #, or scan its code again.");
  for (const button of document.querySelectorAll("button")) button.disabled = true;
} else {
  element("fewer").addEventListener("click", () => change(token, maxWorkers - 1));
  element("more").addEventListener("click", () => change(token, maxWorkers + 1));
  element("leave").addEventListener("click", leave);
  start(token);
}
