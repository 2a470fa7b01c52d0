"""Which episodes are kept of those that came at once, and which of all when there are too many."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from attract.runs.episode_choice import EpisodeLimits, extremes, is_protected, surplus
from attract.schema.recorded_episode import EpisodeEntry
from recorded_episodes import recorded

SOURCES = st.sampled_from(["evaluation", "training", "failure", "person"])
ROLES = st.sampled_from(["best", "worst", "median", None])


def entry_at(
    place: int, source: str = "training", role: str | None = "best", **changes: object
) -> EpisodeEntry:
    return EpisodeEntry.model_validate(
        {
            "id": f"{place:05d}",
            "source": source,
            "role": role,
            "agent_steps": 100 * place,
            "episode_return": 1.0,
            "num_steps": 7,
            "seconds": 1.4,
            "end_reason": "time_limit",
            "num_bytes": 1000,
            "created_at": "",
            **changes,
        }
    )


ENTRIES = st.lists(
    st.tuples(SOURCES, ROLES, st.booleans(), st.integers(1, 5000), st.integers(0, 40) | st.none()),
    max_size=40,
).map(
    lambda drawn: [
        entry_at(place, source, role, starred=starred, num_bytes=size, agent_steps=steps)
        for place, (source, role, starred, size, steps) in enumerate(drawn)
    ]
)


def test_the_best_the_worst_and_the_one_nearest_to_the_median_are_chosen():
    episodes = [recorded(value) for value in (3.0, 9.0, 1.0, 5.0, 4.0)]
    # The median of the five is 4.
    assert [(role, episode.mean_return) for role, episode in extremes(episodes)] == [
        ("best", 9.0),
        ("worst", 1.0),
        ("median", 4.0),
    ]
    # The median of all that were played is 5.2: the nearest of those that are here is 5.
    chosen = extremes(episodes, [1.0, 3.0, 4.0, 5.0, 5.2, 6.0, 7.0, 8.0, 9.0])
    assert chosen[2] == ("median", episodes[3])


def test_of_few_episodes_each_is_chosen_once():
    one, two = recorded(1.0), recorded(2.0)
    assert extremes([]) == []
    assert extremes([one]) == [("best", one)]
    assert extremes([one, two]) == [("best", two), ("worst", one)]


def test_several_agents_count_by_their_mean():
    low, high = recorded([9.0, 0.0]), recorded([5.0, 5.0])
    assert extremes([low, high]) == [("best", high), ("worst", low)]


def test_training_is_thinned_evenly_and_keeps_its_oldest_and_newest():
    entries = [entry_at(place) for place in range(65)]
    gone = {entry.id for entry in surplus(entries, EpisodeLimits(1 << 30, 33))}
    places = [int(entry.id) for entry in entries if entry.id not in gone]
    assert (places[0], places[-1], len(places)) == (0, 64, 33)
    # Twice the distance that would be even is the most that halving leaves.
    assert max(after - before for before, after in pairwise(places)) <= 4


def test_training_and_medians_go_before_the_best_and_worst_of_evaluations():
    entries = [entry_at(place, "evaluation", ("best", "worst", "median")[place % 3]) for place in range(30)]
    entries += [entry_at(30 + place) for place in range(20)]
    # 20 of 50 are best or worst of an evaluation; half as many others stay.
    left = EpisodeLimits(1 << 30, 30)
    gone = surplus(entries, left)
    assert len(gone) == 20
    assert all(entry.source == "training" or entry.role == "median" for entry in gone)
    gone = surplus(entries, EpisodeLimits(1 << 30, 15))
    kept = [entry for entry in entries if entry not in gone]
    assert sum(entry.source == "evaluation" and entry.role != "median" for entry in kept) == 10


def test_of_the_three_of_one_moment_two_go_before_a_moment_is_lost():
    moments = [entry_at(3 * moment + place, agent_steps=moment) for moment in range(10) for place in range(3)]
    gone = {entry.id for entry in surplus(moments, EpisodeLimits(1 << 30, 10))}
    assert {entry.agent_steps for entry in moments if entry.id not in gone} == set(range(10))


def test_failures_and_starred_episodes_never_go():
    entries = [entry_at(0, "failure", None), entry_at(1, starred=True), entry_at(2)]
    assert [is_protected(entry) for entry in entries] == [True, True, False]
    assert surplus(entries, EpisodeLimits(0, 0)) == entries[2:]


@given(ENTRIES, st.integers(0, 40_000), st.integers(0, 40))
def test_what_is_left_fits_or_is_protected_and_nothing_goes_needlessly(
    entries: list[EpisodeEntry], max_bytes: int, max_episodes: int
):
    gone = surplus(entries, EpisodeLimits(max_bytes, max_episodes))
    assert not any(is_protected(entry) for entry in gone)
    ids = [entry.id for entry in gone]
    assert len(set(ids)) == len(ids)
    left = [entry for entry in entries if entry.id not in ids]

    def is_within(some: list[EpisodeEntry]) -> bool:
        return sum(entry.num_bytes for entry in some) <= max_bytes and len(some) <= max_episodes

    assert is_within(left) or all(is_protected(entry) for entry in left)
    if gone:
        assert not is_within([*left, gone[-1]])


@given(ENTRIES, st.integers(0, 40_000))
def test_less_room_never_brings_one_back(entries: list[EpisodeEntry], max_bytes: int):
    more = [entry.id for entry in surplus(entries, EpisodeLimits(max_bytes + 5000, 40))]
    assert [entry.id for entry in surplus(entries, EpisodeLimits(max_bytes, 40))][: len(more)] == more
