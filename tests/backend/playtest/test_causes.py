from dataclasses import replace

import pytest

from attract.games.places import Place
from attract.playtest.causes import Causes, Sighting, place_in, plain_text
from attract.schema.playtest import PlaytestAlarm
from recorded_episodes import recorded


def sighting(text: str, *, step: int = 3, stack: str | None = None, has_episode: bool = True) -> Sighting:
    alarm = PlaytestAlarm(oracle="error", text=text, step=step, stack=stack)
    return Sighting(alarm, "random", recorded() if has_episode else None)


def by_stack(stack: str | None, method: object) -> tuple[str | None, Place | None]:
    return stack, None if stack is None else Place("src/game.ts", int(stack), 1)


def causes_of(*sightings: Sighting) -> Causes:
    causes = Causes(by_stack)
    for seen in sightings:
        causes.add(seen)
    return causes


def test_alarms_of_one_place_are_one_cause_whatever_they_say() -> None:
    causes = causes_of(
        sighting("a is undefined", stack="7"),
        sighting("b is undefined", stack="7"),
        sighting("c is undefined", stack="8"),
    )
    assert [len(cause.sightings) for cause in causes.all.values()] == [2, 1]


def test_alarms_without_a_place_are_one_cause_by_their_text_without_numbers() -> None:
    causes = causes_of(sighting("cell 3 is -1.5e+3"), sighting("cell 12 is 4"), sighting("row 3 is 4"))
    assert [len(cause.sightings) for cause in causes.all.values()] == [2, 1]


def test_the_shortest_sighting_has_an_episode() -> None:
    causes = causes_of(sighting("x", step=1, has_episode=False), sighting("x", step=9), sighting("x", step=5))
    (cause,) = causes.all.values()
    assert cause.shortest.alarm.step == 5
    assert [kept.alarm.step for kept in cause.replayable] == [5, 9]
    assert cause.playable == []
    cause = causes.add(replace(sighting("x", step=7), index=3))
    assert [played.index for played in cause.playable] == [3]


def test_what_was_seen_first_in_its_page_is_shown_before_what_is_shorter() -> None:
    used = replace(sighting("x", step=2), is_fresh=False)
    (cause,) = causes_of(used, sighting("x", step=9), sighting("x", step=1, has_episode=False)).all.values()
    assert cause.shortest.alarm.step == 9


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("Error: gone (js/game.js:4:24)\nmore", Place("js/game.js", 4, 24)),
        ("Error: gone (4:24)", None),
        ("Error: gone", None),
    ],
)
def test_an_error_of_a_page_ends_with_its_place(text: str, place: Place | None) -> None:
    assert place_in(text) == place


def test_addresses_and_numbers_are_no_part_of_a_plain_text() -> None:
    assert plain_text("at (http://g1.localhost:8000/a.js:3:4) of -3.5\nsecond line") == "at  of #"
    assert plain_text("") == ""
