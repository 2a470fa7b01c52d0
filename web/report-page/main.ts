/** What `attract ci --html` ships: puts the player of an episode into each finding's card. */

/** What the report has of an episode. */
interface Shown {
  /** Of the card. */
  id: string;
  episode: unknown;
  at: number;
}

interface Data {
  /** Text of the page that plays one episode, without its script. */
  page: string;
  /** Its script. */
  script: string;
  /** Text of the game's module. */
  game: string;
  episodes: Shown[];
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

window.addEventListener("message", ({ data: said, source }) => {
  const height = said?.attractHeight;
  if (typeof height !== "number") return;
  for (const frame of shownIn.keys())
    if ((frame as HTMLIFrameElement).contentWindow === source)
      (frame as HTMLIFrameElement).style.height = `${Math.ceil(height)}px`;
});
