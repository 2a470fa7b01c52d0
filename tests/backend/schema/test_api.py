"""Models of the HTTP API, of pages and of what is written for them."""

from typing import Any, get_args

import numpy as np
import pytest
from pydantic import ValidationError

from attract.commands.json_output import ErrorAnswer
from attract.playtest.report import BuildFinding, Report
from attract.schema import close_codes
from attract.schema.access import JoinLink, JoinRequest
from attract.schema.api import MetricsRow, RunView, StartRun
from attract.schema.devices import DEVICES, DeviceName, device_of, on_device
from attract.schema.messages import Block, StepOutcome
from attract.schema.metrics import MetricSeries, MetricsView
from attract.schema.probe import MAX_TRIED, ProbeChoice, ProbePlay, ProbeVerified
from attract.schema.recorded_episode import PlaytestFinding, PlaytestReport
from attract.schema.step_numbers import (
    CONTINUES,
    DECIDED_NUMBERS,
    OUTCOME_NUMBERS,
    REPEATS,
    STEP_NUMBERS,
    WHOLE,
    PackedPictures,
    Tensor,
)
from attract.schema.studies import StudyTrial
from blocks import played_block
from recorded_episodes import failed, found

RUN: dict[str, Any] = {
    "run_id": "run-1",
    "game": "cartpole",
    "state": "running",
    "created": "2026-01-01T00:00:00+00:00",
    "seed": 1,
    "policy_version": 0,
    "agent_steps": 0,
    "collected_steps": 0,
    "updates": 0,
    "episodes": 0,
    "elapsed_seconds": 0.0,
    "steps_per_second": 0.0,
    "episode_return_mean": None,
    "goal": None,
    "total_steps": None,
}


def test_a_series_stands_at_the_steps_of_its_own_updates():
    view = MetricsView(
        run_id="run-1",
        names=["train/loss", "eval/mean_reward", "gone"],
        agent_steps=[10.0, 20.0, 30.0],
        seconds=[1.0, 2.0, 3.0],
        series=[
            MetricSeries(name="train/loss", values=[3.0, 2.0, 1.0]),
            MetricSeries(name="eval/mean_reward", at=[0, 2], values=[7.0, 8.0]),
        ],
    )
    assert view.steps_of("train/loss") == [10.0, 20.0, 30.0]
    assert view.steps_of("eval/mean_reward") == [10.0, 30.0]
    with pytest.raises(StopIteration):
        view.steps_of("gone")


def test_what_pages_read_has_no_infinite_number():
    assert RunView(**RUN).findings == []
    with pytest.raises(ValidationError, match="elapsed_seconds"):
        RunView(**RUN | {"elapsed_seconds": float("inf")})
    with pytest.raises(ValidationError, match="values"):
        MetricsRow(update=1, agent_steps=1, seconds=1.0, values={"train/loss": float("nan")})


def test_a_run_is_started_by_settings_that_nest_and_by_nothing_else():
    assert StartRun(game="cartpole").settings == {}
    with pytest.raises(ValidationError, match="seed"):
        StartRun.model_validate({"game": "cartpole", "seed": 1})
    with pytest.raises(ValidationError, match="game"):
        StartRun(game="")


def test_a_join_link_still_works_for_a_while():
    with pytest.raises(ValidationError, match="expires_seconds"):
        JoinLink(url="join.html", token="t", tier="local", expires_seconds=0)


def test_a_page_may_not_ask_for_a_tier_that_is_not_granted():
    assert JoinRequest().tier == "local"
    with pytest.raises(ValidationError, match="tier"):
        JoinRequest.model_validate({"tier": "public"})


ANSWER = {
    "error": "there is no run 'x'",
    "code": "unknown-run",
    "setting": None,
    "fix": "attract runs",
    "exit_code": 2,
}


def test_an_error_has_a_code_a_fix_and_an_exit_code_and_nothing_else():
    assert ErrorAnswer.model_validate(ANSWER).model_dump() == ANSWER
    for change in ({"code": ""}, {"exit_code": -1}, {"traceback": "..."}):
        with pytest.raises(ValidationError):
            ErrorAnswer.model_validate(ANSWER | change)


CODES = {
    name: value
    for name, value in vars(close_codes).items()
    if isinstance(value, int) and not isinstance(value, bool)
}


def test_each_code_has_one_reason_and_is_one_that_a_server_may_send():
    assert len(set(CODES.values())) == len(CODES)
    # 1005 and 1006 stand for no code at all; RFC 6455 leaves 4000 to 4999 to applications.
    assert all(1000 <= code <= 1015 or 4000 <= code <= 4999 for code in CODES.values())
    assert not {1005, 1006} & set(CODES.values())


def test_a_client_comes_back_after_what_passes_and_after_nothing_that_stays():
    passing = {"GOING_AWAY", "INTERNAL", "BACKPRESSURE", "HELLO_TIMEOUT"}
    assert {name for name, value in CODES.items() if value in close_codes.RETRY} == passing
    # A lost line has no code of ours, and a restarting proxy says 1012.
    assert {1005, 1006, 1012} <= close_codes.RETRY


def test_each_name_has_its_row_and_only_fingers_have_a_size():
    assert get_args(DeviceName) == tuple(DEVICES)
    assert all((device.size is None) == (not device.touch) for device in DEVICES.values())


def test_a_module_says_its_device_in_front_of_all_else():
    code = b"// a.ts\nexport default 1;"
    assert on_device(code, "desktop@2x") == b'globalThis.attractDevice="desktop@2x";' + code
    assert device_of(on_device(code, "desktop@2x")) == "desktop@2x"
    strange = b'globalThis.attractDevice="watch";'
    assert [device_of(code), device_of(strange), device_of(code + on_device(code, "phone"))] == [None] * 3


def test_kinds_are_the_bytes_that_workers_write() -> None:
    # `web/worker/src/rollout/stack-packer.ts` has the same three.
    assert (CONTINUES, REPEATS, WHOLE) == (0, 1, 2)


def test_nothing_is_packed_unless_a_block_says_so() -> None:
    assert played_block().packed == {}
    assert PackedPictures() == PackedPictures(stacks=None, deflated=False)


def test_stacks_are_described_whole() -> None:
    plain = played_block().model_dump()
    with pytest.raises(ValidationError, match=r"packed\.obs\.stacks\.bootstrap"):
        Block.model_validate({**plain, "packed": {"obs": {"stacks": {"step": plain["valid"]}}}})


def test_a_report_of_the_command_is_read_and_what_is_not_shown_is_left_out():
    whole = failed(found(), game_id="Counting-v1")
    listed = PlaytestReport.model_validate_json(whole.model_dump_json())
    assert (listed.game_id, listed.verdict, listed.episodes) == ("Counting-v1", "findings", 64)
    assert listed.findings[0].text == found().text
    assert {"oracles", "players"}.isdisjoint(listed.model_dump())


def test_what_is_shown_has_the_names_of_the_command_s_report():
    added = {"folder", "written_at"}
    assert PlaytestReport.model_fields.keys() - added <= Report.model_fields.keys()
    assert PlaytestFinding.model_fields.keys() - {"problem"} <= BuildFinding.model_fields.keys()


@pytest.mark.parametrize("change", [{"format": "junit"}, {"version": 2}, {"verdict": "perhaps"}])
def test_another_document_is_refused(change: dict[str, object]):
    document = failed(found()).model_dump(mode="json") | change
    with pytest.raises(ValidationError):
        PlaytestReport.model_validate(document)


def test_the_first_choice_is_the_likeliest_of_each_part():
    parts = {"press": 0, "score": 0, "end": 0, "restart": 0}
    assert ProbeChoice().model_dump() == parts | {"max_seconds": 120, "alive": False, "reached": False}


def test_no_score_and_no_end_are_choices_but_a_restart_there_always_is():
    assert ProbeChoice(score=None, end=None).end is None
    with pytest.raises(ValidationError, match="restart"):
        ProbeChoice.model_validate({"restart": None})


def test_a_long_loop_keeps_to_a_bound():
    play = ProbePlay(
        choice=ProbeChoice(),
        steps=0,
        frames=0,
        episodes=0,
        return_mean=None,
        standard_error=None,
        length_mean=None,
        ended=0,
        paid_steps=0,
        problems=[],
    )
    assert len(ProbeVerified(play=play, tried=[play] * MAX_TRIED, open=[], seconds=60.0).tried) == MAX_TRIED
    with pytest.raises(ValidationError, match="tried"):
        ProbeVerified(play=play, tried=[play] * (MAX_TRIED + 1), open=[], seconds=60.0)


def trial(**changes: object) -> StudyTrial:
    return StudyTrial.model_validate({"number": 1, "state": "finished", "settings": {}} | changes)


def test_settings_keep_their_kinds_when_they_are_read_again():
    settings = {"a": None, "b": True, "c": 1, "d": 1.5, "e": "relu", "f": [64, 64]}
    again = StudyTrial.model_validate_json(trial(settings=settings).model_dump_json())
    assert [(value, type(value)) for value in again.settings.values()] == [
        (value, type(value)) for value in settings.values()
    ]


@pytest.mark.parametrize(
    "changes",
    [{"score": float("nan")}, {"seconds": float("inf")}, {"number": -1}, {"luck": 1}, {"state": "won"}],
)
def test_what_it_cannot_hold_is_refused(changes: dict[str, object]):
    with pytest.raises(ValidationError):
        trial(**changes)


def test_every_number_travels_in_a_block_and_is_kept_as_a_type_of_the_store() -> None:
    assert not DECIDED_NUMBERS.keys() & OUTCOME_NUMBERS.keys()
    assert {**DECIDED_NUMBERS, **OUTCOME_NUMBERS} == STEP_NUMBERS
    assert {name: np.dtype(kept).itemsize for name, kept in STEP_NUMBERS.items()} == {
        "log_prob": 4,
        "value": 4,
        "reward": 4,
        "terminated": 1,
        "truncated": 1,
        "valid": 1,
        "executed_ticks": 2,
    }
    for name in STEP_NUMBERS:
        assert Block.model_fields[name].annotation is Tensor
    assert OUTCOME_NUMBERS.keys() <= StepOutcome.model_fields.keys()
