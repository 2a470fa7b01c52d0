/** An empty page in a frame, for tests of what reads a page; it goes after each test. */

import { afterEach } from "vitest";
import type { PageWindow } from "../../../web/sdk/src/page-adapter.ts";

const frames: HTMLIFrameElement[] = [];

afterEach(() => {
  for (const frame of frames.splice(0)) frame.remove();
});

/** Without a size it has a frame's own, 300 x 150. */
export function blankPage(width = 300, height = 150): PageWindow {
  const frame = document.createElement("iframe");
  frame.width = String(width);
  frame.height = String(height);
  document.body.append(frame);
  frames.push(frame);
  return frame.contentWindow as PageWindow;
}
