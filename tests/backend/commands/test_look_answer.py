"""The answer of `attract look`: never longer than asked for, and nothing in it that a terminal obeys."""

import json
import re
from typing import Any

from attract.commands.json_output import MAX_ANSWER_BYTES, json_text
from attract.commands.look_answer import look_lines, shortened, text_of
from attract.schema.look import LookReport

ESCAPES = "\x1b]0;owned\x07 \x1b[31mred\x9b31m \u202edesrever\u2028line"
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def report(**changes: Any) -> LookReport:
    plain: dict[str, Any] = {
        "title": "Flappy",
        "engine": "Phaser 3",
        "contracts": [],
        "size": (480, 360),
        "frames": 60,
        "ended": None,
        "inputs": [],
        "texts": [],
        "buttons": [],
        "things": [],
        "globals": [],
        "num_globals": 0,
        "console": [],
        "alerts": [],
        "errors": [],
        "notes": [],
        "eval": None,
        "episode": None,
        "missing": [],
        "png": None,
        "seconds": 0.5,
        "left_out": {},
    }
    return LookReport.model_validate({**plain, **changes})


def place(path: str, **changes: Any) -> dict[str, Any]:
    plain = {"kind": "number", "value": 3.0, "fields": [], "row": [], "first": 1.0, "low": 1.0, "high": 3.0}
    return {"path": path, **plain, "direction": "up", "moved_by": {}, **changes}


def step(number: int) -> dict[str, Any]:
    observation = [0.125] * 20
    return {
        "step": number,
        "frame": 4 * number,
        "observation": observation,
        "score": number,
        "over": False,
        "mask": None,
    }


def test_a_short_answer_is_left_as_it_is() -> None:
    given = report(globals=[place("w.game?.x")], num_globals=1)
    assert shortened(given, json_text) == given
    assert json.loads(json_text(given))["globals"][0]["value"] == 3


def test_a_long_answer_loses_the_end_of_its_longest_lists_and_counts_it() -> None:
    globals_ = [place(f"w.game?.stars?.[{i}]?.position?.x") for i in range(400)]
    texts = [{"text": "Score", "x": 1, "y": 2, "on": "canvas"}]
    for render in (json_text, text_of):
        short = shortened(report(globals=globals_, texts=texts, num_globals=500), render)
        assert len(render(short).encode()) <= MAX_ANSWER_BYTES
        assert len(short.texts) == 1
        assert 10 < len(short.globals) < 400
        assert short.left_out == {"globals": 400 - len(short.globals)}
        assert [entry.path for entry in short.globals] == [
            entry["path"] for entry in globals_[: len(short.globals)]
        ]


def test_an_answer_of_the_longest_texts_is_short_as_well() -> None:
    words = "\U0001f600" * 400
    given = report(
        title=words[:120],
        alerts=[words] * 20,
        errors=[words] * 400,
        globals=[place("w.x", kind="word", value=words, moved_by={words: "up"})] * 400,
        eval={"value": [words] * 100, "error": None},
    )
    for render in (json_text, text_of):
        short = shortened(given, render)
        assert len(render(short).encode()) <= MAX_ANSWER_BYTES
        assert short.left_out["errors"] + len(short.errors) == 400
        assert short.left_out["characters of eval"] > 10_000


def test_texts_that_no_list_holds_are_cut_where_nothing_else_is_left() -> None:
    words = "\u00e9" * 400
    # Each of its characters takes two in JSON, and each of those two in the answer.
    value = ['"\\'] * 1500
    episode = {"game_id": words, "actions": [], "ticks_per_step": 4, "has_score": True, "steps": []}
    given = report(
        title=words,
        engine=words,
        ended=words,
        alerts=[words] * 20,
        eval={"value": value, "error": None},
        episode={**episode, "num_steps": 3},
    )
    for render in (json_text, text_of):
        short = shortened(given, render)
        assert len(render(short).encode()) <= MAX_ANSWER_BYTES
        assert short.title.startswith("\u00e9" * 50)
        assert short.eval is not None and len(short.eval.value) > 1_000
        assert short.left_out["characters of eval"] == len(json.dumps(value)) - len(short.eval.value)
    # Alone they fit.
    assert shortened(report(title=words, ended=words), json_text).title == words
    thrown = report(title=words, engine=words, ended=words, eval={"value": None, "error": words})
    assert len(json_text(shortened(thrown, json_text)).encode()) <= MAX_ANSWER_BYTES


def test_the_last_step_stays() -> None:
    episode = {
        "game_id": "Flappy-v1",
        "actions": ["fall", "hop"],
        "ticks_per_step": 4,
        "has_score": True,
        "steps": [step(i) for i in range(300)],
        "num_steps": 299,
    }
    short = shortened(report(episode=episode), json_text)
    assert short.episode is not None
    assert [entry.step for entry in short.episode.steps[:2]] == [0, 1]
    assert short.episode.steps[-1].step == 299
    assert short.left_out["steps"] == 300 - len(short.episode.steps) > 100


def test_no_text_of_a_page_reaches_a_terminal_as_a_command() -> None:
    given = report(
        title=ESCAPES,
        engine=ESCAPES,
        contracts=[ESCAPES],
        ended=ESCAPES,
        texts=[{"text": f"{ESCAPES}\nerrors (1):", "x": 1, "y": 2, "on": "element"}],
        buttons=[{"selector": ESCAPES, "text": ESCAPES, "x": 1, "y": 2, "count": 2}],
        things=[{"look": ESCAPES, "count": 1, "x": 0, "y": 0, "width": 0, "height": 0}],
        globals=[place(ESCAPES, kind="word", value=ESCAPES, moved_by={ESCAPES: "up"})],
        console=[{"by": "page", "level": "log", "text": ESCAPES, "times": 1}],
        alerts=[ESCAPES],
        errors=[ESCAPES],
        notes=[ESCAPES],
        missing=[{"address": ESCAPES, "why": ESCAPES}],
        eval={"value": {ESCAPES: ESCAPES}, "error": None},
    )
    lines = look_lines(given)
    for line in lines:
        assert CONTROL.search(line) is None, repr(line)
        assert "\n" not in line
    # No line of a text looks like one of ours.
    assert lines.count("errors (1):") == 1
    assert json_text(given).isascii()
    assert json.loads(json_text(given))["title"] == ESCAPES
    thrown = report(eval={"value": None, "error": ESCAPES})
    assert CONTROL.search(text_of(thrown).replace("\n", "")) is None


def test_lines_say_where_things_are_and_what_moves_them() -> None:
    given = report(
        inputs=[
            {"name": "ArrowLeft", "first_frame": 60, "end_frame": 90, "problem": None, "num_moved": 2},
            {"name": "#go", "first_frame": 5, "end_frame": 9, "problem": "no element", "num_moved": 0},
            {"name": "Enter", "first_frame": 5, "end_frame": 9, "problem": None, "num_moved": None},
        ],
        texts=[{"text": "Score: 40", "x": 61, "y": 20, "on": "canvas"}],
        globals=[
            place("w.ship?.x", moved_by={"ArrowLeft": "down"}),
            place("w.rocks", kind="list", value=2, fields=["x"], row=[0.5], direction="still"),
        ],
        num_globals=9,
        left_out={"globals": 7},
    )
    text = text_of(given)
    assert "ArrowLeft in frames 60 to 89: moves 2 globals" in text
    assert "#go in frames 5 to 8: no element" in text
    assert "Enter in frames 5 to 8: not compared, for want of time" in text
    assert "  61,20  Score: 40" in text
    assert "globals (2 of 9):" in text
    assert "w.ship?.x = 3  (1 to 3, up)  moved by ArrowLeft: down" in text
    assert "w.rocks: list of 2, first {x: 0.5}" in text
    assert "left out: 7 globals; --full has them" in text
