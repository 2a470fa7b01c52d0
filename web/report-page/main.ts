/** What `attract ci --html` ships: puts the player of an episode into each finding's card, or plays its pictures. */

/** What the report has of an episode. */
interface Shown {
  /** The card's. */
  id: string;
  episode: unknown;
  at: number;
}

/** What the report has of an episode in a page. */
interface Pictured {
  /** The card's. */
  id: string;
  /** Game time of each picture. */
  seconds: number[];
  /** Second at which it happens. */
  moment: number;
  /** Addresses that hold the pictures themselves. */
  images: string[];
}

interface Data {
  /** Text of the page that plays one episode, without its script. */
  page: string;
  /** Its script. */
  script: string;
  /** Text of the game's module. */
  game: string;
  episodes: Shown[];
  pictures: Pictured[];
}

/** Text within a script element, which must not end it. */
function scriptText(value: unknown): string {
  return JSON.stringify(value).replaceAll("<", "\\u003c");
}

const data: Data = JSON.parse(document.getElementById("data")?.textContent ?? "");
const shownIn = new Map<Element, Shown>();

for (const shown of data.episodes) {
  const frame = document.querySelector(`#${CSS.escape(shown.id)} iframe`);
  if (frame !== null) shownIn.set(frame, shown);
}

/** Only what is seen is played: each takes a thread's time. */
const observer = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    const shown = shownIn.get(target);
    if (!isIntersecting || shown === undefined) continue;
    observer.unobserve(target);
    const { episode, at } = shown;
    const inlined = scriptText({ game: data.game, episode, at });
    (target as HTMLIFrameElement).srcdoc = data.page
      .replace("{{inlined}}", () => inlined)
      .replace("{{script}}", () => data.script);
  }
});
for (const frame of shownIn.keys()) observer.observe(frame);

for (const pictured of data.pictures) {
  const figure = document.querySelector<HTMLElement>(`#${CSS.escape(pictured.id)} figure`);
  if (figure !== null) playPictures(figure, pictured);
}

function playPictures(figure: HTMLElement, { seconds, moment, images }: Pictured): void {
  const [image, caption, button, scrub, output] = ["img", "figcaption", "button", "input", "output"].map(
    (name) => figure.querySelector(name),
  ) as [HTMLImageElement, HTMLElement, HTMLButtonElement, HTMLInputElement, HTMLOutputElement];
  const last = images.length - 1;
  let timer: ReturnType<typeof setTimeout> | null = null;

  const show = (index: number) => {
    scrub.value = String(index);
    image.src = images[index];
    const ahead = seconds[index] - moment;
    const text =
      Math.abs(ahead) < 0.005
        ? "when it happens"
        : `${Math.abs(ahead).toFixed(1)} s ${ahead < 0 ? "before" : "after"}`;
    output.textContent = text;
    scrub.setAttribute("aria-valuetext", text);
  };
  const stop = () => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    button.textContent = "Play";
  };
  const goOn = () => {
    const index = Number(scrub.value);
    if (index >= last) return stop();
    timer = setTimeout(
      () => {
        show(index + 1);
        goOn();
      },
      1000 * (seconds[index + 1] - seconds[index]),
    );
  };
  button.addEventListener("click", () => {
    if (timer !== null) return stop();
    if (Number(scrub.value) >= last) show(0);
    button.textContent = "Pause";
    goOn();
  });
  scrub.addEventListener("input", () => {
    stop();
    show(Number(scrub.value));
  });
  show(Number(scrub.value));
  caption.hidden = false;
}

window.addEventListener("message", ({ data: said, source }) => {
  const height = said?.attractHeight;
  if (typeof height !== "number") return;
  for (const frame of shownIn.keys())
    if ((frame as HTMLIFrameElement).contentWindow === source)
      (frame as HTMLIFrameElement).style.height = `${Math.ceil(height)}px`;
});
