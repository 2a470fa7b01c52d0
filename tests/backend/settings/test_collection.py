"""What of the settings of collection cannot work together."""

import pytest

from attract.errors import ConfigurationError
from attract.settings.collection import CollectionSettings


def refusal(given: dict[str, object]) -> str:
    with pytest.raises(ConfigurationError) as caught:
        CollectionSettings.from_mapping(given)
    return str(caught.value)


def test_a_lag_that_the_schedule_does_not_have_is_refused():
    assert "`async` it works" in refusal({"max_policy_lag": 2})
    assert "`sync` has no lag" in refusal({"schedule": "async", "max_policy_lag": 0})


@pytest.mark.parametrize(("schedule", "lag"), [("sync", 0), ("overlap", 1), ("async", 4)])
def test_the_usual_lag_is_the_schedules(schedule: str, lag: int):
    assert CollectionSettings.from_mapping({"schedule": schedule}).policy_lag == lag


def test_room_for_fewer_workers_than_are_expected_is_refused():
    assert "below num_workers; give at least 4" in refusal({"num_workers": 4, "max_workers": 3})


@pytest.mark.parametrize("given", ["a/b", "../x", "", "a,,b", [1], {"a": 1}])
def test_a_seat_that_names_no_file_is_refused(given: object):
    assert "collection.seats" in refusal({"seats": given})
