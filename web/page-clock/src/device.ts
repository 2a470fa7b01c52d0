/** The device that a page believes to be on: its window and screen, a finger, the browser's name. It may be turned. */

import { DEVICES, type DeviceName } from "./devices.gen.ts";
import { installMedia } from "./media.ts";
import { defineGetter, defineHandler } from "./overriding.ts";
import type { VirtualTime } from "./time.ts";
import { installTouch } from "./touch.ts";

type Page = Window & typeof globalThis;
type Size = readonly [width: number, height: number];

/**
 * @param size of the window, in CSS pixels.
 * @param touch whether the pointer is a finger.
 * @returns gives the window another size, which it is laid out at already; the page hears of it in the next tick.
 */
export function installDevice(
  window: Page,
  time: VirtualTime,
  { device, size, touch }: { device: DeviceName; size: Size; touch: boolean },
): (size: Size) => void {
  const { pixelRatio, touch: turns, userAgent } = DEVICES[device];
  let now = size;
  const screen = window.Screen.prototype;
  for (const [index, side] of ["Width", "Height"].entries()) {
    const get = (): number => now[index];
    for (const name of [`inner${side}`, `outer${side}`]) defineGetter(window, name, get);
    for (const name of [side.toLowerCase(), `avail${side}`]) defineGetter(screen, name, get);
  }
  defineGetter(window, "devicePixelRatio", () => pixelRatio);
  if (touch) installTouch(window);
  const media = touch || pixelRatio !== 1 ? installMedia(window, { touch, pixelRatio }) : null;
  if (userAgent !== null) {
    const { Navigator, NavigatorUAData } = window as Page & { NavigatorUAData?: { prototype: object } };
    const named = { userAgent, appVersion: userAgent.replace("Mozilla/", ""), platform: "Linux armv81" };
    for (const [name, value] of Object.entries(named)) defineGetter(Navigator.prototype, name, () => value);
    const data = { mobile: /Mobile/.test(userAgent), platform: "Android" };
    if (NavigatorUAData !== undefined)
      for (const [name, value] of Object.entries(data))
        defineGetter(NavigatorUAData.prototype, name, () => value);
  }
  const isWide = (): boolean => now[0] > now[1];
  if (turns) {
    defineGetter(window, "orientation", () => (isWide() ? 90 : 0));
    defineHandler(window, "orientationchange");
    const { prototype } = window.ScreenOrientation;
    defineGetter(prototype, "angle", () => (isWide() ? 90 : 0));
    defineGetter(prototype, "type", () => (isWide() ? "landscape-primary" : "portrait-primary"));
  }
  const send = (target: EventTarget | null, name: string): void => {
    target?.dispatchEvent(new window.Event(name));
  };
  return (next) => {
    if (next[0] === now[0] && next[1] === now[1]) return;
    const wasWide = isWide();
    now = next;
    const report = (): void => {
      if (turns && isWide() !== wasWide) {
        send(window, "orientationchange");
        send(window.screen.orientation, "change");
      }
      send(window, "resize");
      send(window.visualViewport, "resize");
      media?.notify();
    };
    time.post(report);
  };
}
