import pytest

from attract.run.life import LIFTED_BY_HAND, TRANSITIONS, Event, Life, PauseReason, Phase


def life_in(phase: Phase) -> Life:
    life = Life()
    life.phase = phase
    return life


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("event", Event)
def test_what_the_table_does_not_have_cannot_happen(phase: Phase, event: Event) -> None:
    life = life_in(phase)
    if (phase, event) in TRANSITIONS:
        life.happened(event)
        assert life.phase is TRANSITIONS[phase, event]
    else:
        with pytest.raises(RuntimeError, match=f"no {event.name} of a run that is {phase.name}"):
            life.happened(event)
        assert life.phase is phase


def test_from_every_phase_there_is_a_way_to_the_end_and_none_back() -> None:
    order = list(Phase)
    for phase in order[:-1]:
        assert any(before is phase for before, _ in TRANSITIONS)
    back = {(a, b) for (a, _), b in TRANSITIONS.items() if order.index(b) <= order.index(a)}
    assert back == {(Phase.EXPORTING, Phase.FINISHING)}, "only an export is tried again"


def test_a_run_is_shown_by_its_phase_and_by_the_reasons_that_people_know_of() -> None:
    life = Life()
    assert life.shown == "starting"
    life.happened(Event.LEASED)
    assert life.shown == "running"
    life.pause(PauseReason.AWAITED_VERSION)
    assert life.shown == "running"
    life.pause(PauseReason.CONFIRMING)
    assert life.shown == "evaluating"
    life.pause(PauseReason.USER)
    assert life.shown == "paused"
    life.lift(PauseReason.USER, PauseReason.CONFIRMING, PauseReason.AWAITED_VERSION)
    assert (life.shown, life.reasons) == ("running", frozenset())


def test_the_error_is_that_of_the_last_reason_that_still_holds() -> None:
    life = Life()
    life.pause(PauseReason.DISK, "no room")
    life.pause(PauseReason.DROPPED_UPDATES, "three were undone")
    assert life.error == "three were undone"
    life.lift(*LIFTED_BY_HAND)
    assert (life.error, life.shown) == ("no room", "paused")
    life.lift(PauseReason.DISK)
    assert life.error is None


def test_while_it_ends_a_run_is_shown_as_before_and_then_as_what_it_came_to() -> None:
    life = Life()
    life.happened(Event.LEASED)
    life.end("stopped")
    life.pause(PauseReason.DISK, "no room")
    assert (life.shown, life.error) == ("running", None)
    life.happened(Event.NOTHING_TO_EXPORT)
    life.happened(Event.LEARNER_ENDED)
    assert (life.shown, life.error, life.is_over) == ("stopped", None, True)


def test_an_error_of_a_run_that_ends_already_changes_what_it_came_to_only_if_it_says_so() -> None:
    for as_failed, shown in ((False, "stopped"), (True, "failed")):
        life = Life()
        life.end("stopped")
        life.fail("late", as_failed=as_failed)
        life.happened(Event.GIVEN_UP)
        assert (life.shown, life.error) == (shown, "late")
