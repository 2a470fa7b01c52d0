"""What `attract train` says while nobody plays."""

from collections.abc import Mapping

from typing_extensions import override

from attract.commands.train_display import Display
from attract.commands.waiting import BeforeFirstUpdate, WaitingForWorkers
from attract.schema.api import BeginningView, GameReport, RunState, RunView


class Said(Display):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    @override
    def updated(self, run: RunView, values: Mapping[str, float]) -> None: ...

    @override
    def refreshed(self, run: RunView) -> None: ...

    @override
    def say(self, text: str) -> None:
        self.lines.append(text)

    @override
    def reported(self, report: GameReport) -> None: ...


def run(waiting_seconds: float | None, state: RunState = "running") -> RunView:
    return RunView.model_construct(state=state, waiting_seconds=waiting_seconds, beginning=None)


def test_scale_03_it_says_once_since_when_nobody_plays_with_the_link_and_when_they_are_back() -> None:
    said, links = Said(), iter(["http://a/join.html#token=x"])
    waiting = WaitingForWorkers(said, lambda: next(links), has_own=False)
    waiting.update(run(None), last_left_seconds=None, has_workers=False)
    for seconds in (5.2, 6.0, 90.0):
        waiting.update(run(seconds), last_left_seconds=seconds, has_workers=False)
    assert said.lines == [
        "waiting for workers: the last one left 5 s ago\n"
        "  join: http://a/join.html#token=x\n"
        "  or: attract join 'http://a/join.html#token=x'"
    ]
    waiting.update(run(None), last_left_seconds=None, has_workers=True)
    assert said.lines[1:] == ["workers joined after 1:30"]


def test_scale_03_a_browser_of_its_own_has_time_to_start() -> None:
    said = Said()
    waiting = WaitingForWorkers(said, lambda: "link", has_own=True)
    waiting.update(run(12.0, "starting"), last_left_seconds=None, has_workers=False)
    assert said.lines == []
    waiting.update(run(30.1, "starting"), last_left_seconds=None, has_workers=False)
    assert said.lines[0].startswith("waiting for workers: none has joined yet")


def test_scale_03_a_run_that_is_over_waits_for_nobody() -> None:
    said = Said()
    waiting = WaitingForWorkers(said, lambda: "link", has_own=False)
    waiting.update(run(7.0), last_left_seconds=7.0, has_workers=False)
    waiting.update(run(None, "finished"), last_left_seconds=None, has_workers=False)
    assert len(said.lines) == 1


def test_scale_03_nobody_is_there_where_a_run_is_stopped_before_anybody_came() -> None:
    said = Said()
    waiting = WaitingForWorkers(said, lambda: "link", has_own=False)
    waiting.update(run(464.0), last_left_seconds=None, has_workers=False)
    waiting.update(run(None), last_left_seconds=None, has_workers=False)
    assert len(said.lines) == 1


def test_before_the_first_update_there_is_a_line_at_least_every_ten_seconds() -> None:
    said = Said()
    before = BeforeFirstUpdate(said, 100.0)
    warming = RunView.model_construct(
        waiting_seconds=None,
        beginning=BeginningView(stage="warmup", seconds=4.0, steps=100, total_steps=2048),
    )
    for tenth in range(300):
        before.update(warming, 100.0 + tenth / 10)
    assert len(said.lines) == 3, "at 5, 15 and 25 s"
    before.update(warming.model_copy(update={"waiting_seconds": 7.0}), 200.0)
    before.update(RunView.model_construct(waiting_seconds=None, beginning=None), 300.0)
    assert len(said.lines) == 3, "nothing where nobody is there, or after the first update"
