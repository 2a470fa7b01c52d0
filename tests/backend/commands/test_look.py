"""`attract look`: what it refuses before a browser starts, inputs, and an answer that is kept short."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from attract.commands.json_output import MAX_ANSWER_BYTES, json_text
from attract.commands.look import LookOptions, look_at
from attract.commands.look_answer import look_lines, short_look, text_of
from attract.commands.look_inputs import KEY, NAMED_KEYS, frames_of, given_inputs
from attract.errors import ConfigurationError
from attract.schema.look import LookReport
from attract.settings.run import ServerSettings
from check_rules import ROOT
from servers import free_port


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("cartpole", "cartpole is a game without a page"),
        ("nothing", "there is no nothing"),
        ("nothing.page.ts", "there is no file"),
        ("https://elsewhere.example/", "is not on this machine"),
    ],
)
async def test_what_is_no_page_is_refused(given: str, said: str, tmp_path: Path) -> None:
    server = ServerSettings(runs_dir=tmp_path, project_dir=tmp_path)
    with pytest.raises(ConfigurationError, match=said) as caught:
        await look_at(given, LookOptions(), server)
    assert caught.value.exit_code == 2


async def test_a_server_that_does_not_answer_is_named(tmp_path: Path) -> None:
    address = f"http://127.0.0.1:{free_port()}/"
    with pytest.raises(ConfigurationError, match=f"nothing answers at {address}"):
        await look_at(address, LookOptions(), ServerSettings(runs_dir=tmp_path))


async def test_a_picture_is_a_png_of_a_size_that_can_be_drawn(tmp_path: Path) -> None:
    server = ServerSettings(runs_dir=tmp_path, project_dir=tmp_path)
    with pytest.raises(ConfigurationError, match=r"page\.jpg is no name of a picture"):
        await look_at("meteors", LookOptions(png=tmp_path / "page.jpg"), server)
    with pytest.raises(ConfigurationError, match="0 x 600"):
        await look_at("meteors", LookOptions(size=(0, 600)), server)


def test_a_press_lasts_four_frames_and_a_hold_until_its_end() -> None:
    inputs = given_inputs(["Enter@10"], ["ArrowLeft@60-90"], ["#start@5"], ["left@0-30"])
    assert [(entry.name, entry.kind, entry.first, entry.end) for entry in inputs] == [
        ("left", "action", 0, 30),
        ("#start", "pointer", 5, 9),
        ("Enter", "key", 10, 14),
        ("ArrowLeft", "key", 60, 90),
    ]


def test_two_numbers_are_a_place_and_all_else_is_a_selector() -> None:
    place, attribute = given_inputs(click=["120, 80.5@5", 'a[href="x@y"] , b@6'])
    assert (place.kind, place.targets, place.name) == ("pointer", ((120, 80.5),), "120,80.5")
    assert (attribute.name, attribute.targets) == ('a[href="x@y"] , b', ('a[href="x@y"] , b',))
    assert place.order()["from"] == 5 and place.order()["to"] == 9


def test_the_pointer_does_a_row_of_the_table_at_one_place_or_two() -> None:
    right, drag = given_inputs(pointer=["right #cell@5", "drag .a > b to 120,80@6-20"])
    assert (right.name, right.how, right.targets) == ("right #cell", "right", ("#cell",))
    assert (drag.how, drag.targets, drag.end) == ("drag", (".a > b", (120, 80)), 20)
    for text, said in {
        "rigth #a@5": "'rigth' is nothing that the pointer does\n  did you mean right?",
        "drag #a@5": "does not say where\n  'drag PLACE to PLACE@5'",
        "right @5": "does not say where",
        "right #a": "does not name a frame",
    }.items():
        with pytest.raises(ConfigurationError) as caught:
            given_inputs(pointer=[text])
        assert said in str(caught.value)
    assert given_inputs(["PadA@5"])[0].name == "PadA"


@pytest.mark.parametrize(
    ("press", "said"),
    [
        ("Enter", "--press: 'Enter' does not name a frame\n  --press Enter@10"),
        ("Enterr@3", "'Enterr' is no key's code\n  did you mean Enter?"),
        ("a@3", "'a' is no key's code\n  KeyA"),
        ("1@3", "'1' is no key's code\n  Digit1"),
        ("left@3", "'left' is no key's code\n  ArrowLeft"),
        ("Up@3", "'Up' is no key's code\n  ArrowUp"),
        ("Enter@5-5", "'Enter@5-5' ends before it begins"),
        (f"{'x' * 500}@3", "does not name a frame"),
    ],
)
def test_what_is_not_written_as_it_should_be_is_named(press: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        given_inputs([press])
    assert said in str(caught.value)


def test_too_many_inputs_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="51 inputs"):
        given_inputs(["Enter@1"] * 51)


def test_a_play_lasts_until_a_moment_after_the_last_input() -> None:
    inputs = given_inputs(hold=["ArrowLeft@60-90"])
    assert frames_of(inputs, None) == 120
    assert frames_of([], None) == 60
    assert frames_of(inputs, 61) == 61
    assert frames_of([], 0) == 0
    with pytest.raises(ConfigurationError, match="after the last frame, which is 59") as caught:
        frames_of(inputs, 60)
    assert caught.value.fix == "--frames 120"
    with pytest.raises(ConfigurationError, match="0 to 3600"):
        frames_of([], 3601)


def test_the_keys_are_those_that_the_clock_knows() -> None:
    source = (Path(ROOT) / "web/page-clock/src/key-codes.ts").read_text()
    named = source[source.index("const NAMED") : source.index("export const MODIFIERS")]
    assert set(re.findall(r"^  (\w+): \[", named, re.MULTILINE)) == set(NAMED_KEYS)
    assert [KEY.fullmatch(code) is not None for code in ("KeyA", "Digit7", "F12", "F13", "Keya")] == [
        *(True, True, True, False, False)
    ]


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
        "sheet": None,
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
    assert short_look(given, json_text) == given
    assert json.loads(json_text(given))["globals"][0]["value"] == 3


def test_a_long_answer_loses_the_end_of_its_longest_lists_and_counts_it() -> None:
    globals_ = [place(f"w.game?.stars?.[{i}]?.position?.x") for i in range(400)]
    texts = [{"text": "Score", "x": 1, "y": 2, "on": "canvas"}]
    for render in (json_text, text_of):
        short = short_look(report(globals=globals_, texts=texts, num_globals=500), render)
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
        short = short_look(given, render)
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
        short = short_look(given, render)
        assert len(render(short).encode()) <= MAX_ANSWER_BYTES
        assert short.title.startswith("\u00e9" * 50)
        assert short.eval is not None and len(short.eval.value) > 1_000
        assert short.left_out["characters of eval"] == len(json.dumps(value)) - len(short.eval.value)
    # Alone they fit.
    assert short_look(report(title=words, ended=words), json_text).title == words
    thrown = report(title=words, engine=words, ended=words, eval={"value": None, "error": words})
    assert len(json_text(short_look(thrown, json_text)).encode()) <= MAX_ANSWER_BYTES


def test_the_last_step_stays() -> None:
    episode = {
        "game_id": "Flappy-v1",
        "actions": ["fall", "hop"],
        "ticks_per_step": 4,
        "has_score": True,
        "steps": [step(i) for i in range(300)],
        "num_steps": 299,
    }
    short = short_look(report(episode=episode), json_text)
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
