/** How a thing looks, in words that are the same whenever the page is loaded again. */

const LONGEST_NAME = 60;

/** The look of an image: its file's name, or "canvas" for another canvas. */
export function lookOfImage(image: unknown): string {
  const { currentSrc, src } = image as { currentSrc?: unknown; src?: unknown };
  const address = String(currentSrc || src || "");
  if (address !== "") {
    if (/^(data|blob):/.test(address)) return "image";
    const name = address.split(/[?#]/)[0].split("/").at(-1) ?? "";
    return readable(name).slice(0, LONGEST_NAME) || "image";
  }
  return typeof (image as { getContext?: unknown }).getContext === "function" ? "canvas" : "bitmap";
}

/** What a colour says of what is painted with it. */
export interface Paint {
  /** Looks of a rectangle and of a path. */
  readonly rect: string;
  readonly shape: string;
  readonly isClear: boolean;
  readonly isOpaque: boolean;
}

const MAX_PAINTS = 1000;
const paints = new Map<unknown, Paint>();

/** The paint of a colour as the canvas spells it; gradients and patterns share one paint. */
export function paintOf(paint: unknown): Paint {
  const colour = typeof paint === "string" ? paint : "pattern";
  let known = paints.get(colour);
  if (known === undefined) {
    known = {
      rect: `rect ${colour}`,
      shape: `shape ${colour}`,
      isClear: /^rgba\(.*, 0\)$/.test(colour),
      // A canvas spells what can be seen through so.
      isOpaque: !colour.startsWith("rgba"),
    };
    // Colours that change with every frame do not come again.
    if (paints.size === MAX_PAINTS) paints.clear();
    paints.set(colour, known);
  }
  return known;
}

export function sizeOf(width: number, height: number): string {
  return `${Math.round(Math.abs(width))}x${Math.round(Math.abs(height))}`;
}

function readable(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
