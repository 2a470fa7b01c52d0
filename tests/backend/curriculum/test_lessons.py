import json
from typing import Any

import pytest

from attract.curriculum.lessons import Lessons
from attract.errors import ConfigurationError
from attract.settings.curriculum import LessonSettings


def lesson(name: str, **fields: Any) -> LessonSettings:
    return LessonSettings.from_mapping({"name": name, "min_episodes": 0, **fields})


def three(**fields: Any) -> Lessons:
    until = {"metric": "food", "at_least": 5, "times": 3}
    back = {"metric": "food", "at_most": 2, "times": 2}
    return Lessons(
        [
            lesson("small", until=until, **fields),
            lesson("medium", until=until, back=back, **fields),
            lesson("large", back=back, **fields),
        ]
    )


def played(lessons: Lessons, *values: float | None) -> list[str]:
    """The lesson after each check."""
    names: list[str] = []
    for value in values:
        lessons.check(lambda name, value=value: value if name == "food" else None)
        names.append(lessons.lesson.name)
    return names


def test_C6_a_threshold_must_be_met_so_many_times_in_a_row():
    assert played(three(), 5, 5, 4.9, 5, 5, 5) == ["small"] * 5 + ["medium"]


def test_a_value_that_is_not_there_neither_meets_nor_breaks_a_threshold():
    assert played(three(), 5, None, 5, None, 5) == ["small"] * 4 + ["medium"]


def test_it_falls_back_only_below_the_lower_threshold_and_starts_counting_anew():
    lessons = three()
    played(lessons, 5, 5, 5)
    assert played(lessons, 3, 2, 3, 2, 2) == ["medium"] * 4 + ["small"]
    assert played(lessons, 5, 5, 5) == ["small", "small", "medium"]


def test_no_lesson_follows_the_last_one():
    lessons = three()
    assert played(lessons, *[9.0] * 20)[-1] == "large"
    assert lessons.is_last
    assert lessons.number == 3


def test_a_lesson_lasts_its_episodes_whatever_the_metric():
    lessons = three(min_episodes=2)
    assert played(lessons, 5, 5, 5, 5)[-1] == "small"
    lessons.count()
    assert played(lessons, 5)[-1] == "small"
    lessons.count()
    assert played(lessons, 5)[-1] == "medium"
    # The next one counts its own.
    assert played(lessons, 5, 5, 5)[-1] == "medium"


def test_a_change_says_why():
    lessons = three()
    value = iter([5.0, 6.0, 7.25])
    changes = [lessons.check(lambda name: next(value)) for _ in range(3)]
    assert changes[:2] == [None, None]
    change = changes[2]
    assert change is not None
    assert (change.before, change.now) == ("small", "medium")
    assert change.reason == "food was at least 5 3 times in a row, lastly 7.25"


def test_D2_lessons_go_on_in_the_middle():
    lessons, other = three(min_episodes=1), three(min_episodes=1)
    lessons.count()
    played(lessons, 5, 5, 5)
    lessons.count()
    played(lessons, 5, 5)
    other.load(json.loads(json.dumps(lessons.state())))
    assert other.lesson.name == "medium"
    assert played(other, 5) == ["large"]


def test_a_lesson_that_is_no_longer_there_is_named():
    other = Lessons([lesson("only")])
    with pytest.raises(ConfigurationError, match="in lesson 'small'") as caught:
        other.load(three().state())
    assert "there are only" in str(caught.value)
