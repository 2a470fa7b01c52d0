/** Pages in frames, for tests of what reads or holds a page; each goes after its test. */

import { afterEach } from "vitest";
import type { PageWindow } from "../../web/sdk/src/page-adapter.ts";

const frames: HTMLIFrameElement[] = [];

afterEach(() => {
  for (const frame of frames.splice(0)) frame.remove();
});

function framed(attributes: Partial<HTMLIFrameElement>): HTMLIFrameElement {
  const frame = Object.assign(document.createElement("iframe"), attributes);
  document.body.append(frame);
  frames.push(frame);
  return frame;
}

/** An empty page. Without a size it has a frame's own, 300 x 150. */
export function blankPage(width = 300, height = 150): PageWindow {
  return framed({ width: String(width), height: String(height) }).contentWindow;
}

/** A frame of text or of an address, once it is loaded. */
export async function loadedFrame(source: { srcdoc: string } | { src: string }): Promise<HTMLIFrameElement> {
  const frame = framed(source);
  await new Promise((resolve) => frame.addEventListener("load", resolve, { once: true }));
  return frame;
}
