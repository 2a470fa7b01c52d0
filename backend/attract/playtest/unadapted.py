"""A page without an adapter: what the probe found is played as it is, else usual inputs."""

import json
import re
from typing import Any, Final

from attract.schema.devices import DEVICES, DeviceName

UNSEEN: Final = """observation: box({ low: -1, high: 1, shape: [1] }),
  observe: () => [0],"""
"""In place of pixels: an agent's pixels turn off the WebGL that a page may draw by."""
PIXELS: Final = re.compile(r"(?<=\n  )pixels: \{[^}]*\},(?=\n)")
MAX_SECONDS: Final = 60
"""Length of an episode that the game does not end: half of that in training, so that slow pages end some."""
VARIABLE: Final = re.compile(
    r"w\.(?:lookInside\(\)\.)?([A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*|(?:\?\.)?\[\d+\])*)", re.ASCII
)
"""What a probe reads of a page's variables, each with one number."""
UNFINISHED: Final = re.compile(r"^ *(//[^\n]*\n *)?unfinished: \[[^\]\n]*\],?\n", re.MULTILINE)


def unprobed(page: str, size: tuple[int, int]) -> dict[str, Any]:
    """What a probe reports that came to nothing in its time: a page that is loaded for each episode."""
    adapter = f"""import {{ box, definePageGame, discrete }} from "attract/page";

export default definePageGame({{
  id: "Page-v1",
  page: {json.dumps(page)},
  size: {json.dumps(size)},
  maxSeconds: {MAX_SECONDS},
  observation: box({{ low: -1, high: 1, shape: [1] }}),
  observe: () => [0],
  action: discrete(["nothing"]),
  keys: {{ nothing: [] }},
  reward: () => 1 / 60,
  over: () => false,
}});
"""
    report: dict[str, Any] = {"unfinished": ["keys", "score"], "cut": ["controls", "a restart"]}
    return {**report, "adapter": adapter, "moves": [], "seen": [], "seen_numbers": []}


def playable(adapter: str, unfinished: list[str], device: DeviceName | None = None) -> str:
    """The text of a probe's adapter without its `unfinished`, so that it can be played.

    Without controls there are `usualInputs` of `attract/page`. Without a score each frame alive counts, and
    without something to see an agent sees nothing, not even pixels: oracles that need neither judge all the
    same.
    """
    text = UNFINISHED.sub("", adapter)
    if PIXELS.search(text):
        text = PIXELS.sub(UNSEEN, text, count=1)
        text = re.sub(r"import \{ (?!box)", "import { box, ", text, count=1)
    if "keys" not in unfinished:
        return text
    options = "{ touch: true }" if _is_touched(text, device) else ""
    text = re.sub(r"\baction: discrete\(\[[^\n]*\]\)", f"...usualInputs({options})", text, count=1)
    text = re.sub(r"^ *keys: \{[^\n]*\},?\n", "", text, count=1, flags=re.MULTILINE)
    return f'import {{ usualInputs }} from "attract/page";\n{text}'


def with_watched(adapter: str, seen: list[str], numbers: list[int]) -> str:
    """The adapter with its page's variables as `info`: NaN there is a fault, which what an agent sees hides.

    Args:
        seen: what the observation is read of.
        numbers: how many numbers each of it gives.
    """
    matches = (VARIABLE.fullmatch(text) for text, count in zip(seen, numbers, strict=True) if count == 1)
    found = ", ".join(f"{json.dumps(match[1])}: {match[0]}" for match in matches if match is not None)
    if not found:
        return adapter
    info = f"""  info: (w) =>
    Object.fromEntries(Object.entries({{ {found} }}).filter(([, value]) => typeof value === "number")),
"""
    return adapter.replace("definePageGame({\n", f"definePageGame({{\n{info}", 1)


def usual_inputs(adapter: str, device: DeviceName | None) -> str:
    """What `playable` has done where no controls were found, in words."""
    if _is_touched(adapter, device):
        return "a finger swipes, and taps and drags places and elements"
    return "usual keys are pressed, places and elements clicked and dragged"


def _is_touched(text: str, device: DeviceName | None) -> bool:
    """Whether a finger plays the page, not a keyboard and a mouse."""
    return DEVICES[device].touch if device is not None else "touch: true" in text
