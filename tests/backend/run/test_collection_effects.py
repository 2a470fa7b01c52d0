"""What the run makes of each thing that collection tells it."""

from typing import Any

import numpy as np
import pytest

from attract.collection import effects as collecting
from attract.run import effects
from attract.run.collection_effects import HANDLERS
from attract.run.core_state import CoreState
from attract.run.life import Event, PauseReason, Phase
from attract.schema.api import GameReport
from attract.schema.episodes import Episode
from attract.schema.game import GameDescription, ParameterRange
from attract.schema.learner import Counters
from attract.schema.messages import Lease, RolloutClose, RunEnded
from attract.schema.tensor import from_numpy
from blocks import train_lease
from fake_worker import counting_description
from known_runs import run_state

CHANGED = effects.StateChanged()


def handled(state: CoreState, effect: collecting.Effect, now: float = 1.0) -> list[effects.Effect]:
    """What the run wants done as it hears this."""
    state.out.clear()
    HANDLERS[type(effect)](state, effect, now)
    return list(state.out)


def lease(purpose: Any) -> Lease:
    return train_lease().model_copy(update={"purpose": purpose})


def test_the_clock_and_training_start_with_the_first_lease_after_the_warm_up() -> None:
    state = run_state()
    warmup = collecting.Send(10, lease("warmup"))
    assert handled(state, warmup, now=5.0) == [warmup]
    assert (state.life.phase, state.progress.elapsed_seconds(6.0)) == (Phase.STARTING, 0.0)
    train = collecting.Send(10, lease("train"))
    assert handled(state, train, now=7.0) == [train, CHANGED]
    assert (state.life.phase, state.progress.elapsed_seconds(8.0)) == (Phase.TRAINING, 1.0)
    assert handled(state, train, now=9.0) == [train], "said once"


def test_a_message_that_is_no_lease_only_goes_out() -> None:
    state = run_state()
    ended = collecting.Send(10, RunEnded(run_id="run-1", reason=""))
    assert handled(state, ended, now=5.0) == [ended]
    assert state.progress.elapsed_seconds(9.0) == 0.0


def metrics(state: CoreState) -> dict[str, float]:
    return state.progress.metrics({}, Counters(updates=1), state.fleet(1.0), 1.0)


def test_what_workers_say_of_their_leases_is_in_the_next_row() -> None:
    state = run_state()
    empty = from_numpy(np.zeros(0, np.float32))
    close = RolloutClose(
        run_id="run-1",
        lease_id=1,
        num_blocks=1,
        slot_id=empty,
        bootstrap_value=empty,
        play_seconds=4.0,
        inference_seconds=1.0,
        game_seconds=2.0,
        wait_seconds=0.0,
    )
    idle = close.model_copy(update={"play_seconds": 0.0, "inference_seconds": 0.0, "game_seconds": 0.0})
    assert handled(state, collecting.LeaseClosed(close, 1.5)) == []
    assert handled(state, collecting.LeaseClosed(idle, 2.5)) == []
    assert handled(state, collecting.LeaseClosed(idle, None)) == []
    row = metrics(state)
    assert row["fleet/worker_latency_mean"] == 2.0
    assert (row["fleet/game_fraction"], row["fleet/inference_fraction"]) == (0.5, 0.25)


def test_C7_where_nothing_can_be_confirmed_the_run_pauses_and_says_why() -> None:
    state = run_state()
    unconfirmed = collecting.Unconfirmed("nothing of anybody could be confirmed")
    assert handled(state, unconfirmed) == [collecting.Note("paused", unconfirmed.text), CHANGED]
    assert state.life.reasons == {PauseReason.UNCONFIRMED}
    assert state.life.error == unconfirmed.text
    state.end("stopped", 2.0)
    state.life.lift(PauseReason.UNCONFIRMED)
    assert handled(state, unconfirmed) == [], "a run that ends pauses for nothing"
    assert state.life.reasons == set()


def with_size(default: float) -> GameDescription:
    """The counting game with one parameter."""
    parameters = {"size": ParameterRange(default=default, low=1, high=20)}
    return counting_description().model_copy(update={"parameters": parameters})


def test_a_game_that_is_known_is_prepared_once_with_the_parameters_in_force() -> None:
    state = run_state(parameters={"size": 8})
    game = with_size(5)
    assert handled(state, collecting.GameKnown(game)) == [collecting.GameKnown(game), CHANGED]
    assert state.progress.description == game
    assert {name: parameter.values for name, parameter in state.progress.parameters.items()} == {
        "size": [8.0]
    }
    assert handled(state, collecting.GameKnown(game)) == [], "a second host says the same"


def test_another_game_than_before_ends_the_run() -> None:
    state = run_state()
    handled(state, collecting.GameKnown(counting_description()))
    handled(state, collecting.GameKnown(counting_description(num_actions=4)))
    assert state.life.is_ending
    assert not state.progress.refused, "it did begin"
    assert "run run-1 was started with: its action changed" in (state.life.error or "")
    assert state.progress.description == counting_description()


def test_settings_that_the_game_does_not_know_refuse_the_run_before_anything_is_made() -> None:
    state = run_state(parameters={"sise": 8})
    wanted = handled(state, collecting.GameKnown(with_size(5)))
    assert not any(isinstance(effect, collecting.GameKnown) for effect in wanted)
    assert (state.life.is_ending, state.progress.refused) == (True, True)
    assert "size" in (state.life.error or ""), "the nearest name"


def broken(kind: str, name: str, text: str, *, fatal: bool) -> collecting.Report:
    return collecting.Report(GameReport(kind=kind, name=name, text=text, stack=None), fatal=fatal)


def test_a_failure_that_is_not_fatal_is_only_told() -> None:
    state = run_state()
    failure = broken("throw", "TypeError", "x is undefined", fatal=False)
    assert handled(state, failure) == [failure]
    assert not state.life.is_ending


@pytest.mark.parametrize(
    ("kind", "name", "text", "error"),
    [
        ("throw", "TypeError", "x is undefined", "the game failed (throw): TypeError: x is undefined"),
        ("throw", "Error", "no such level", "the game failed (throw): no such level"),
        ("throw", "Error", "the game failed to load", "the game failed (throw): the game failed to load"),
        ("crash", "Error", "no such operator: Foo", "workers crash: no such operator: Foo"),
    ],
)
def test_a_fatal_failure_ends_the_run_with_one_sentence(kind: str, name: str, text: str, error: str) -> None:
    state = run_state()
    state.life.happened(Event.LEASED)
    failure = broken(kind, name, text, fatal=True)
    sent = failure.report.model_copy(update={"run_error": error})
    assert handled(state, failure)[0] == collecting.Report(sent, fatal=True), "pages show the fault, not both"
    assert (state.life.is_ending, state.life.error) == (True, error)


def test_a_worker_that_is_not_restarted_is_among_the_findings_that_pages_see() -> None:
    state = run_state()
    report = GameReport(kind="throw", name="Error", text="boom", stack=None, worker_index=0)
    assert CHANGED not in handled(state, collecting.Report(report, fatal=False))
    assert state.progress.findings == []
    lost = report.model_copy(update={"worker_lost": True, "repeated": 10})
    assert CHANGED in handled(state, collecting.Report(lost, fatal=False))
    (found,) = state.progress.findings
    assert (found.finding_id, found.text) == (
        "worker-lost",
        "worker 0 failed three times within a minute and is not restarted; last: boom",
    )


@pytest.mark.parametrize("has_counted", [False, True])
def test_C10_returns_that_a_forger_may_have_made_decide_about_no_goal_and_no_best(
    has_counted: bool,
) -> None:
    state = run_state()
    window = state.progress.goal.window
    window.add(Episode(0, 0, 3, (1e6,), 4, 4, "terminated"))
    assert state.evaluations.is_best_by_return(window.return_mean)
    caught = collecting.ForgerCaught("liar", 1, "reward", has_counted=has_counted)
    assert handled(state, caught) == [caught]
    assert (window.return_mean is None) == has_counted
    assert state.evaluations.is_best_by_return(1.0) == has_counted
