/** How an adapter begins its game: the text of its `menu` and `playing`. */

import { INTO } from "../../sdk/src/page/elements.ts";
import type { Findings } from "./findings.ts";
import { LONG_WAIT, lastPress, type Press, pressesOf, type StartAction } from "./start-actions.ts";
import { code } from "./template.ts";

/** A `menu` that presses what the last menu that is there asks for, and when the game has begun. */
export function menuText(
  own: StartAction,
  { playing: known, again, reading }: Pick<Findings, "playing" | "again" | "reading">,
): string {
  const startAction = again ?? own;
  const isBegunByItself = own.kind === "none";
  const over = reading.end?.text ?? "false";
  // What is shown at the end may be shown until the game begins, too.
  const playing = isBegunByItself && again !== null ? (known ?? `!(${over})`) : known;
  if (startAction.kind === "none") return code`playing: (w) => ${playing},`;
  const presses = pressesOf(startAction).reverse();
  const each = (textOf: (press: Press) => string | null): string[] => [
    ...new Set(presses.flatMap((press) => textOf(press) ?? [])),
  ];
  const selectors = each((press) => (press.kind === "element" ? press.selector : null));
  const names = each((press) => (press.kind === "spot" ? JSON.stringify(press.name) : null));
  const codes = each((press) => (press.kind === "key" ? press.code : null));
  const [click] = each((press) => (press.kind === "click" ? `[${press.x}, ${press.y}]` : null));
  const drawn = `spot(w, ${names.join(", ")})`;
  // A button that is drawn is there until it has begun the game.
  const isDrawn = pressesOf(own).length < 2 && presses.every(({ kind }) => kind === "spot");
  const isCounted = playing === null && !isDrawn;
  // While an intro plays, nothing more is pressed; nor where nothing says that the game has begun: once more may pause it.
  const isShort = !isDrawn && (isCounted || own.ticks === LONG_WAIT);
  const first = `page.ticks < ${lastPress(startAction)}`;
  const when = isBegunByItself ? over : again === null ? first : `(${first} || ${over})`;
  const isDown = `${isBegunByItself || isShort ? `${when} && ` : ""}page.ticks % 8 < 4`;
  const places = [
    ...(selectors.length === 0 ? [] : ["middle"]),
    ...(names.length === 0 ? [] : [drawn]),
    ...(click === undefined ? [] : [click]),
  ];
  const place = places.join(" ?? ");
  const hasInto = selectors.some((one) => one.includes(INTO));
  const buttons = code`
    const buttons = ${JSON.stringify(selectors)}.map((one) => ${hasInto ? "elements(w, one)[0]" : "w.document.querySelector(one)"});
    const button = buttons.find((one) => one?.checkVisibility());
    button?.scrollIntoView({ block: "nearest", behavior: "instant" });
    const box = button?.getBoundingClientRect();
    const middle = box && [box.x + box.width / 2, box.y + box.height / 2];`;
  const menu = code`
    w.waited = ${isCounted && "page.ticks"};
    ${selectors.length > 0 && buttons}
    const place = ${place};
    w.hasMenu ||= ${playing === null && isDrawn && "place !== undefined"};
    const isDown = ${isDown};
    ${place !== "" && ["if (place) page.point(place[0], place[1], isDown);", "else page.lift();"]}
    page.hold(${place === "" ? "isDown" : "isDown && !place"} ? ${codes.length > 0 && JSON.stringify(codes)} : []);`;
  const begun = isDrawn ? `w.hasMenu && !${drawn}` : `w.waited >= ${startAction.ticks}`;
  const isOver = over === "false" || (again === null && !isDrawn) ? "" : ` && !(${over})`;
  return code`
    menu(${/\bw\b/.test(menu) ? "w" : "_w"}, page) {
      ${menu}
    },
    playing: (w) => ${playing},
    // ${isDrawn ? "What began it is gone." : "No sign that the game has started was found: it waits for a fixed time."}
    playing: (w) => ${playing === null && `${begun}${isOver}`},`;
}
