"""The small steps of which a run core's decisions are made: effects in order, pauses, the one end."""

from collections.abc import Iterable
from typing import Any

import pytest

from attract.collection import effects as collecting
from attract.collection import inputs
from attract.run import effects
from attract.run.core_state import CoreState
from attract.run.life import Event, PauseReason
from attract.schema.learner import Counters, Train
from attract.schema.messages import RunEnded
from driven_core import DrivenCore
from known_runs import run_state


def sent(wanted: Iterable[effects.Effect], kind: type[Any]) -> list[Any]:
    """The messages of a type that are to go out."""
    return [
        effect.message
        for effect in wanted
        if isinstance(effect, collecting.Send) and isinstance(effect.message, kind)
    ]


def note(text: str) -> collecting.Note:
    return collecting.Note("said", text)


def test_what_a_handler_causes_is_taken_in_after_all_that_waits_already() -> None:
    def handle_note(state: CoreState, effect: collecting.Note, now: float) -> None:
        if effect.text == "first":
            state.absorb([note("third")], now)
            assert state.out == [], "not within the one that caused it"
        state.out.append(collecting.Note("heard", effect.text))

    state = run_state(handlers={collecting.Note: handle_note})
    state.absorb([note("first"), collecting.WakeAfter(1.0), note("second")], 0.0)
    heard = [
        effect.text if isinstance(effect, collecting.Note) else type(effect).__name__ for effect in state.out
    ]
    assert heard == ["first", "WakeAfter", "second", "third"], "who has no handler comes out in its place"


def test_a_handler_that_fails_leaves_the_next_effects_to_be_taken_in() -> None:
    def handle_note(state: CoreState, effect: collecting.Note, now: float) -> None:
        if effect.text == "broken":
            raise ZeroDivisionError("a fault of our own")
        state.out.append(effect)

    state = run_state(handlers={collecting.Note: handle_note})
    with pytest.raises(ZeroDivisionError):
        state.absorb([note("broken"), note("behind it")], 0.0)
    state.absorb([note("next")], 1.0)
    assert state.out == [note("behind it"), note("next")]


def test_only_the_first_reason_pauses_collection_and_only_the_last_one_lets_it_go_on() -> None:
    driven = DrivenCore.started()
    state = run_state(driven.core)
    state.pause(PauseReason.USER, 1.0)
    state.pause(PauseReason.DISK, 1.0, "no room")
    assert driven.core.paused
    state.lift(2.0, PauseReason.DISK)
    assert driven.core.paused, "a person's pause still holds"
    # What is under way is played to its end; the update that it fills waits.
    for connection_id in (10, 11):
        driven.play(connection_id)
    assert (driven.trains, state.out) == ([], [])
    state.lift(3.0, PauseReason.USER)
    assert not driven.core.paused
    (effect,) = state.out
    assert isinstance(effect, collecting.SendToLearner), (
        "what resuming brings goes through the run's own handlers"
    )
    assert isinstance(effect.message, Train)


def test_lifting_a_reason_that_does_not_hold_starts_nothing() -> None:
    driven = DrivenCore.started()
    driven.do(driven.core.handle(inputs.pause, 1.0))
    state = run_state(driven.core)
    state.lift(2.0, PauseReason.DISK)
    assert driven.core.paused, "collection paused itself (rule C7): the run has no reason to resume it"


def test_the_end_stops_the_clock_and_the_fleet_and_comes_once() -> None:
    driven = DrivenCore.started()
    state = run_state(driven.core)
    state.progress.leased(10.0)
    state.end("finished", 30.0, version=4)
    assert (state.export_version, state.progress.elapsed_seconds(99.0)) == (4, 20.0)
    assert len(sent(state.out, RunEnded)) == 3, "the host and both workers"
    state.out.clear()
    state.end("stopped", 50.0, version=7)
    assert (state.export_version, state.progress.elapsed_seconds(99.0), state.out) == (4, 20.0, [])
    state.life.happened(Event.GIVEN_UP)
    assert (state.life.shown, state.life.error) == ("finished", None)


def test_a_run_that_fails_ends_with_its_error_and_says_whether_it_was_refused() -> None:
    for refused in (False, True):
        state = run_state()
        state.fail("it cannot be", 1.0, refused=refused)
        assert (state.life.is_ending, state.life.error, state.progress.refused) == (
            True,
            "it cannot be",
            refused,
        )
        state.life.happened(Event.GIVEN_UP)
        assert state.life.shown == "failed"


def test_only_what_a_run_ends_with_says_whether_it_was_refused() -> None:
    refused, stopped = run_state(), run_state()
    refused.fail("there is no such setting", 1.0, refused=True)
    refused.fail("its learner could not be ended", 2.0)
    assert refused.progress.refused, "it never began all the same"
    stopped.end("stopped", 1.0)
    stopped.fail("there is no such setting", 2.0, refused=True)
    assert not stopped.progress.refused, "it did begin, and has something to show"


def test_an_error_while_it_ends_is_told_beside_what_it_came_to() -> None:
    state = run_state()
    state.end("stopped", 1.0)
    state.fail("the disk is full", 2.0)
    state.life.happened(Event.GIVEN_UP)
    assert (state.life.shown, state.life.error) == ("stopped", "the disk is full")
    state.fail("much later", 3.0)
    assert state.life.error == "the disk is full", "after the end nothing is decided"


def test_the_learners_words_mean_nothing_once_the_run_closes_or_was_aborted() -> None:
    state = run_state()
    for event in (Event.LEASED, Event.END):
        state.life.happened(event)
        assert not state.is_closed, "an update under way is still finished"
    state.is_aborted = True
    assert state.is_closed
    state.is_aborted = False
    for event in (Event.NOTHING_TO_EXPORT, Event.LEARNER_ENDED):
        state.life.happened(event)
        assert state.is_closed


def test_a_lost_learner_takes_its_updates_and_its_policy_with_it() -> None:
    state = run_state()
    state.has_policy = state.learner_is_ready = True
    state.updates.begin(Train(batch_id=3, rows=[0], verify_rows=[], verify="sample", counters=Counters()))
    state.forget()
    assert (state.has_policy, state.learner_is_ready, state.updates.is_idle) == (False, False, True)


def test_the_fleet_is_shown_with_the_sockets_that_were_turned_away() -> None:
    driven = DrivenCore.started()
    state = run_state(driven.core)
    state.sockets_refused = 7
    view = state.fleet(1.0)
    assert (view.sockets_refused, [len(host.workers) for host in view.hosts]) == (7, [2])
