/** The page's style, as text: it works where a policy forbids style sheets. */

export const STYLE = `
:root { color-scheme: light dark; }
body { margin: 0 auto; max-width: 40rem; padding: 1rem; font-family: system-ui, sans-serif; text-align: center; }
h1 { margin: 0.25rem 0; font-size: 1.4rem; }
p { margin: 0.5rem 0; }
/* A frame of a page is fixed to it, and no pointer reaches a play that is recorded. */
#screen { position: relative; transform: translate(0); overflow: hidden; border-radius: 0.5rem; background: #10141c; pointer-events: none; aspect-ratio: 1; max-height: 70vh; margin: 0 auto; }
canvas { display: block; width: 100%; height: 100%; }
[hidden] { display: none !important; }
#controls { display: grid; gap: 0.5rem; margin-top: 0.75rem; }
#scrub { width: 100%; margin: 0; }
#buttons { display: flex; flex-wrap: wrap; gap: 0.5rem; justify-content: center; align-items: center; }
button, select { font: inherit; padding: 0.4rem 0.8rem; border: 1px solid currentColor; border-radius: 0.5rem; background: none; color: inherit; cursor: pointer; }
#play { min-width: 5.5rem; }
option { background: Canvas; color: CanvasText; }
dl { display: flex; flex-wrap: wrap; gap: 0.25rem 1.5rem; justify-content: center; margin: 0; font-variant-numeric: tabular-nums; }
dl div { display: flex; gap: 0.4rem; }
dt { font-weight: 600; }
dd { margin: 0; }
#end { font-weight: 600; white-space: pre-wrap; overflow-wrap: anywhere; }
#status { overflow-wrap: anywhere; }
#keys { font-size: 0.875rem; }
`;
