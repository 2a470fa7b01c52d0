"""A page without an adapter: what the probe found is played as it is, else usual inputs."""

import json
import re
from typing import Any, Final

from attract.schema.devices import DEVICES, DeviceName

KEYS: Final = {
    "left": ["ArrowLeft", "KeyA"],
    "right": ["ArrowRight", "KeyD"],
    "up": ["ArrowUp", "KeyW"],
    "down": ["ArrowDown", "KeyS"],
    "space": ["Space"],
    "enter": ["Enter"],
}
"""What is pressed where no key was found to do anything."""
SWIPES: Final = {"left": (-0.3, 0.0), "right": (0.3, 0.0), "up": (0.0, -0.3), "down": (0.0, 0.3)}
"""How far a finger goes from the middle, as shares of the window, where it was not found to do anything."""
SIZE: Final = re.compile(r"^ *size: \[(\d+), ?(\d+)\],?$", re.MULTILINE)
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
    return {"adapter": adapter, "unfinished": ["keys", "score"], "moves": [], "cut": ["controls"]}


def playable(adapter: str, unfinished: list[str], device: DeviceName | None = None) -> str:
    """The text of a probe's adapter without its `unfinished`, so that it can be played.

    Without controls the usual keys are pressed; on a device for fingers a finger taps and swipes.
    Without a score each frame alive counts, and without something to see an agent sees nothing, not even
    pixels: oracles that need neither judge all the same.
    """
    text = UNFINISHED.sub("", adapter)
    if PIXELS.search(text):
        text = PIXELS.sub(UNSEEN, text, count=1)
        text = re.sub(r"import \{ (?!box)", "import { box, ", text, count=1)
    if "keys" not in unfinished:
        return text
    size = _touched(text, device)
    keys = KEYS if size is None else {}
    codes = ", ".join(f"{label}: {json.dumps(codes)}" for label, codes in {"nothing": [], **keys}.items())
    inputs = f"keys: {{ {codes} }}"
    places = {} if size is None else _fingers(*size)
    if places:
        pointers = ", ".join(f"{json.dumps(label)}: {json.dumps(place)}" for label, place in places.items())
        inputs += f",\n  pointers: {{ {pointers} }}"
    labels = json.dumps(["nothing", *keys, *places])
    text = re.sub(r"action: discrete\(\[[^\n]*\]\)", f"action: discrete({labels})", text, count=1)
    return re.sub(r"^( *)keys: \{[^\n]*\}", rf"\g<1>{inputs}", text, count=1, flags=re.MULTILINE)


def usual_inputs(adapter: str, device: DeviceName | None) -> str:
    """What `playable` has done where no controls were found, in words."""
    return "usual keys are pressed" if _touched(adapter, device) is None else "a finger taps and swipes"


def _touched(text: str, device: DeviceName | None) -> tuple[int, int] | None:
    """The window of a page that a finger plays, in CSS pixels; None: a keyboard does."""
    if device is not None and DEVICES[device].touch:
        return DEVICES[device].size
    found = SIZE.search(text) if "touch: true" in text else None
    return None if found is None else (int(found[1]), int(found[2]))


def _fingers(width: int, height: int) -> dict[str, list[Any]]:
    """Places of taps and swipes, as an adapter's `pointers` have them."""
    x, y = width // 2, height // 2
    swipes = {
        f"swipe {way}": [x, y, "drag", [round(x + dx * width), round(y + dy * height)]]
        for way, (dx, dy) in SWIPES.items()
    }
    return {"tap": [x, y], **swipes}
