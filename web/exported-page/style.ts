/** The page's style, as text: it works where a policy forbids style sheets. */

export const STYLE = `
:root { color-scheme: light dark; }
body { margin: 0 auto; max-width: 32rem; padding: 1rem; font-family: system-ui, sans-serif; text-align: center; }
h1 { margin: 0.25rem 0 0.75rem; font-size: 1.4rem; }
canvas { width: 100%; border-radius: 0.5rem; background: #10141c; }
#controls { display: grid; gap: 0.5rem; justify-items: center; }
#controls[hidden], canvas[hidden] { display: none; }
fieldset { border: 0; padding: 0; display: flex; flex-wrap: wrap; gap: 0.5rem; justify-content: center; }
legend { position: absolute; clip-path: inset(50%); }
button { font: inherit; padding: 0.5rem 1rem; border: 1px solid currentColor; border-radius: 0.5rem; background: none; color: inherit; cursor: pointer; }
button[aria-pressed="true"] { background: CanvasText; color: Canvas; }
#keys { margin: 0; min-height: 1.2em; }
label { display: flex; gap: 0.5rem; align-items: center; }
#scores { list-style: none; padding: 0; }
`;
