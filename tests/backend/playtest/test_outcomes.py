from attract.playtest.outcomes import Outcome, Outcomes, rounded
from attract.schema.playtest import PlaytestEpisode, PlaytestPlays


def episode(index: int, end: str = "terminated", **info: float) -> PlaytestEpisode:
    return PlaytestEpisode.model_validate(
        {
            "play": 1, "index": index, "episode_return": 1 / 3, "num_steps": 7, "num_ticks": 28,
            "end_reason": end, "info": info, "play_seconds": 0.1,
        }
    )  # fmt: skip


def test_an_outcome_has_the_common_numbers_and_those_of_the_game() -> None:
    outcome = Outcome.of(episode(0, level=2.0))
    assert outcome.numbers == {"return": 0.333333, "length": 7.0, "ended": 1.0, "info level": 2.0}
    assert Outcome.of(episode(0, "time_limit")).numbers["ended"] == 0.0


def test_outcomes_are_by_player_and_index_and_failed_ones_have_no_values() -> None:
    outcomes = Outcomes()
    plays = [PlaytestPlays(player="idle", first=0, count=1), PlaytestPlays(player="random", first=3, count=2)]
    outcomes.take_in(plays, [episode(3), episode(4, "failed"), episode(5, level=1.0)])
    assert outcomes.num_episodes == 3
    assert outcomes.values("random", "length") == {3: 7.0, 5: 7.0}
    assert outcomes.values("random", "info level") == {5: 1.0}
    assert outcomes.values("idle", "length") == {}
    assert outcomes.names() == ["return", "length", "ended", "info level"]


def test_six_digits_are_compared() -> None:
    assert (rounded(1234567.0), rounded(0.1 + 0.2)) == (1234570.0, 0.3)


def test_episodes_are_left_out_by_player_and_index() -> None:
    one = Outcome("terminated", {"return": 1.0})
    outcomes = Outcomes({"idle": {0: one, 1: one}, "random": {1: one}})
    assert outcomes.without({("idle", 1), ("random", 0)}).players == {"idle": {0: one}, "random": {1: one}}
