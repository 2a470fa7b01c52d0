/** A chart as a file: its numbers as text, its picture with its title. */

const TITLE_SIZE = 16;
const TITLE_ROOM = 30;

export function saveText(name: string, text: string): void {
  save(name, new Blob([text], { type: "text/csv;charset=utf-8" }));
}

/** The picture of the figure that `inside` stands in, with its legend, on the ground that it has on the page. */
export function savePicture(name: string, inside: Element, title: string): void {
  const figure = inside.closest("figure");
  const drawn = figure?.querySelector("canvas");
  if (figure === null || !drawn) return;
  const picture = document.createElement("canvas");
  const px = devicePixelRatio;
  picture.width = drawn.width;
  picture.height = drawn.height + TITLE_ROOM * px;
  const context = picture.getContext("2d")!;
  const style = getComputedStyle(figure);
  context.fillStyle = style.backgroundColor;
  context.fillRect(0, 0, picture.width, picture.height);
  context.font = `600 ${TITLE_SIZE * px}px ${style.fontFamily}`;
  context.textBaseline = "middle";
  let left = 8 * px;
  const write = (text: string, color: string) => {
    context.fillStyle = color;
    context.fillText(text, left, (TITLE_ROOM / 2) * px);
    left += context.measureText(text).width + 14 * px;
  };
  write(title, style.color);
  context.font = `${(TITLE_SIZE - 3) * px}px ${style.fontFamily}`;
  for (const item of figure.querySelectorAll<HTMLElement>(".chart-legend li"))
    write(item.textContent ?? "", item.style.getPropertyValue("--series"));
  context.drawImage(drawn, 0, TITLE_ROOM * px);
  picture.toBlob((blob) => blob && save(name, blob), "image/png");
}

function save(name: string, blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
