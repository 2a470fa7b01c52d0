"""A page without an adapter: what the probe found is played as it is, with usual keys where it found none."""

import json
import re
from typing import Any, Final

KEYS: Final = {
    "left": ["ArrowLeft", "KeyA"],
    "right": ["ArrowRight", "KeyD"],
    "up": ["ArrowUp", "KeyW"],
    "down": ["ArrowDown", "KeyS"],
    "space": ["Space"],
    "enter": ["Enter"],
}
"""What is pressed where no key was found to do anything."""
UNSEEN: Final = """observation: box({ low: -1, high: 1, shape: [1] }),
  observe: () => [0],"""
"""In place of pixels: an agent's pixels turn off the WebGL that a page may draw by."""
PIXELS: Final = re.compile(r"(?<=\n  )pixels: \{[^}]*\},(?=\n)")
UNFINISHED: Final = re.compile(r"^ *(//[^\n]*\n *)?unfinished: \[[^\]\n]*\],?\n", re.MULTILINE)


def unprobed(page: str, size: tuple[int, int]) -> dict[str, Any]:
    """What a probe reports that came to nothing in its time: a page that is loaded for each episode."""
    adapter = f"""import {{ box, definePageGame, discrete }} from "attract/page";

export default definePageGame({{
  id: "Page-v1",
  page: {json.dumps(page)},
  size: {json.dumps(size)},
  maxSeconds: 60,
  observation: box({{ low: -1, high: 1, shape: [1] }}),
  observe: () => [0],
  action: discrete(["nothing"]),
  keys: {{ nothing: [] }},
  reward: () => 1 / 60,
  over: () => false,
}});
"""
    return {"adapter": adapter, "unfinished": ["keys", "score"], "moves": []}


def playable(adapter: str, unfinished: list[str]) -> str:
    """The text of a probe's adapter without its `unfinished`, so that it can be played.

    Without a score each frame alive counts, and without something to see an agent sees nothing, not even
    pixels: oracles that need neither judge all the same.
    """
    text = UNFINISHED.sub("", adapter)
    if PIXELS.search(text):
        text = PIXELS.sub(UNSEEN, text, count=1)
        text = re.sub(r"import \{ (?!box)", "import { box, ", text, count=1)
    if "keys" not in unfinished:
        return text
    labels = json.dumps(["nothing", *KEYS])
    codes = ", ".join(f"{label}: {json.dumps(codes)}" for label, codes in {"nothing": [], **KEYS}.items())
    text = re.sub(r"action: discrete\(\[[^\n]*\]\)", f"action: discrete({labels})", text, count=1)
    return re.sub(r"^( *)keys: \{[^\n]*\}", rf"\g<1>keys: {{ {codes} }}", text, count=1, flags=re.MULTILINE)
