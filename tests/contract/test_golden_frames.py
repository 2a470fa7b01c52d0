"""Golden frames as Python reads and rewrites them; `golden-frames.test.ts` does so in JavaScript."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from attract.schema import frames, messages

GOLDEN = Path(__file__).resolve().parents[2] / "shared_schema" / "golden"
STEMS = sorted(path.stem for path in GOLDEN.glob("*.json"))


def plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"$bytes": value.hex()}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def decode(stem: str, data: bytes) -> Any:
    if stem.startswith("to_browser."):
        return frames.decode_to_browser(data)
    return frames.decode_from_browser(data)


def test_every_message_of_both_directions_has_a_golden_frame():
    def types(union: Any) -> set[str]:
        return {model.model_fields["type"].default for model in get_args(get_args(union)[0])}

    expected = {f"from_browser.{name}" for name in types(messages.FromBrowser)}
    expected |= {f"to_browser.{name}" for name in types(messages.ToBrowser)}
    assert set(STEMS) == expected
    for writer in ("server", "browser"):
        assert {path.stem for path in (GOLDEN / writer).glob("*.bin")} == expected


@pytest.mark.parametrize("stem", STEMS)
@pytest.mark.parametrize("writer", ["server", "browser"])
def test_what_either_side_wrote_reads_as_the_same_message_and_is_rewritten_byte_for_byte(
    stem: str, writer: str
):
    message = decode(stem, (GOLDEN / writer / f"{stem}.bin").read_bytes())
    assert plain(message.model_dump()) == json.loads((GOLDEN / f"{stem}.json").read_text())
    assert frames.encode(message) == (GOLDEN / "server" / f"{stem}.bin").read_bytes()


@pytest.mark.parametrize("stem", STEMS)
def test_a_golden_frame_cut_short_anywhere_is_refused(stem: str):
    data = (GOLDEN / "server" / f"{stem}.bin").read_bytes()
    for length in range(0, len(data), max(1, len(data) // 40)):
        with pytest.raises(frames.ProtocolError):
            decode(stem, data[:length])
