"""What `attract bench` measures of speed, and its bare parts."""

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping
from typing import Any, cast

import pytest
import torch

from attract.errors import ConfigurationError
from attract.learner.algorithms.batch_evaluation import evaluate_batch
from attract_benchmarks.baselines.order import BaselineReport, BaselineRequest
from attract_benchmarks.harness.child import Child
from attract_benchmarks.harness.common_work import SKIPPED_UPDATES
from attract_benchmarks.harness.figure import Figure
from attract_benchmarks.harness.measure import BenchOptions, Measure, choose
from attract_benchmarks.harness.socket_clients import Outcome
from attract_benchmarks.harness.training import Training, Update
from attract_benchmarks.speed import solve, versus
from attract_benchmarks.speed import wire as wire_bench
from attract_benchmarks.speed.bare_fused_ppo import BareFusedPpo
from attract_benchmarks.speed.bare_ppo import BarePpo
from attract_benchmarks.speed.catalogue import MEASURES
from attract_benchmarks.speed.collection import COLLECTION, Rates
from attract_benchmarks.speed.end_to_end import Bare
from attract_benchmarks.speed.learning import LEARNER
from attract_benchmarks.speed.page_games import GAMES, PAGE_GAMES, names_of
from attract_benchmarks.speed.play import PLAY, play_figure
from attract_benchmarks.speed.publish import NAMES as PUBLISHED
from attract_benchmarks.speed.publish import PUBLISH
from attract_benchmarks.speed.ready_update import ReadyUpdate, cartpole_work
from attract_benchmarks.speed.solve import BASELINE_STEPS, measure_solve
from attract_benchmarks.speed.versus import BASELINES, VERSUS, Baseline, measure_versus
from attract_benchmarks.speed.wire import NAMES, PIXEL_NAMES, WIRE


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("max_grad_norm", [0.05, None])
def test_it_ends_in_the_weights_of_the_bare_loop_by_autograd(
    shared: bool, max_grad_norm: float | None
) -> None:
    work = cartpole_work(shared_trunk=shared, num_steps=2048)
    # Several minibatches, drawn alike, with gradients that are cut and that are not.
    changes = {"minibatch_steps": 512, "max_grad_norm": max_grad_norm}
    work = dataclasses.replace(work, ppo=work.ppo.model_copy(update=changes))
    ready = ReadyUpdate(work, torch.device("cpu"))
    found: list[list[torch.Tensor]] = []
    start = [parameter.detach().clone() for parameter in ready.policy.parameters()]
    for bare in (BareFusedPpo(ready), BarePpo(ready)):
        torch.manual_seed(4)
        bare.update()
        found.append([parameter.detach() for parameter in bare.network.parameters()])
    for one, other, before in zip(*found, start, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-5)
        # Sixteen steps of Adam at 1e-3: it has gone somewhere.
        assert float((one - before).abs().max()) > 1e-3


def test_a_round_leaves_the_first_weights_behind() -> None:
    bare = BareFusedPpo(ReadyUpdate(cartpole_work(num_steps=1024), torch.device("cpu")))
    before = [parameter.detach().clone() for parameter in bare.network.parameters()]
    assert bare.run() > 0
    assert all(torch.equal(one, other) for one, other in zip(bare.network.parameters(), before, strict=True))


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("plain", [True, False])
def test_on_one_minibatch_it_ends_in_the_weights_of_the_real_update(shared: bool, plain: bool) -> None:
    work = cartpole_work(shared_trunk=shared, num_steps=2048)
    # All steps at once: the order in which they are drawn does not matter.
    work = dataclasses.replace(work, ppo=work.ppo.model_copy(update={"minibatch_steps": 2048}))
    ready = ReadyUpdate(work, torch.device("cpu"))
    bare = BarePpo(ready, plain=plain)
    start = [parameter.detach().clone() for parameter in ready.policy.parameters()]
    ready.update()
    bare.update()
    for one, other, before in zip(ready.policy.parameters(), bare.network.parameters(), start, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
        # Four steps of Adam at 1e-3: it has gone somewhere.
        assert float((one.detach() - before).abs().max()) > 1e-3


def test_each_figure_is_given_by_one_measure_and_named_by_two_parts():
    names = Counter(name for measure in MEASURES for name in measure.names)
    assert [name for name, count in names.items() if count > 1] == []
    assert all(len(name.split("/")) == 2 for name in names)


def test_what_needs_more_than_attract_runs_only_when_asked_for():
    assert all(measure.about for measure in MEASURES)
    assert not [measure.names for measure in choose(MEASURES, only=(), peers=False) if measure.needs]


QUICK = BenchOptions(rounds=1, quick=True)


def test_the_bare_rate_adds_the_times_of_its_parts() -> None:
    # 1 / 4 s and 1 / 12 s are 1 / 3 s a step.
    assert Rates(rollout=2.0, inference=4.0, tick=12.0).bare == pytest.approx(3.0)


# `make test` measures the first of these in end_to_end/test_speed_guard.py.
@pytest.mark.long
@pytest.mark.parametrize("measure", COLLECTION, ids=lambda measure: measure.names[0])
def test_every_figure_promised_is_measured(measure: Measure) -> None:
    figures = measure.run(QUICK)
    assert set(figures) == set(measure.names)
    for figure in figures.values():
        assert all(math.isfinite(value) and value > 0 for value in figure.rounds)
        assert len(figure.rounds) == 1
        # Farther from 1 would be a part that was not done; a busy machine disturbs by less.
        assert figure.ratio is None or 0.05 < figure.ratio < 5
    check_collection(figures)


def check_collection(figures: Mapping[str, Figure]) -> None:
    """The ratio is what the parts in the details say."""
    for name in ("collection/cartpole", "collection/mlp256"):
        if name in figures:
            figure = figures[name]
            rates = Rates(
                rollout=figure.value,
                inference=figure.detail["session_run_steps_per_second"],
                tick=figure.detail["tick_steps_per_second"],
            )
            assert figure.ratio == pytest.approx(rates.rollout / rates.bare)
            # A whole step takes ten times as long as a tick.
            assert rates.rollout < rates.tick


@pytest.mark.parametrize(("cores", "rate"), [(1, 125_000), (2, 250_000), (4, 500_000)])
def test_the_bound_is_all_work_over_all_cores(cores: int, rate: float) -> None:
    # 6 us of learning and 2 us of playing a step: one core makes 125,000 of them a second.
    assert Bare(learner=6e-6, collection=2e-6, cores=cores).steps_per_second == pytest.approx(rate)


CPU, CUDA = LEARNER


@pytest.mark.long
def test_the_real_update_is_held_against_the_bare_loop() -> None:
    figures = CPU.run(QUICK)
    assert set(figures) == set(CPU.names)
    for figure in figures.values():
        assert all(math.isfinite(number) and number > 0 for number in (figure.value, *figure.detail.values()))
        assert figure.ratio == pytest.approx(figure.value / figure.detail["bare_samples_per_s"])
        # Twice as fast as the bare loop would be work left out, a fifth as fast a collapse.
        assert 0.2 < figure.ratio < 2


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_gpu_its_figures_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="no CUDA device"):
        CUDA.run(BenchOptions(rounds=1, quick=True, device="cuda"))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_gpu_is_measured() -> None:
    (figure,) = CUDA.run(BenchOptions(rounds=1, quick=True, device="cuda")).values()
    assert figure.ratio is not None and 0.1 < figure.ratio < 2


@pytest.mark.long
@pytest.mark.alone
def test_a_page_goes_faster_from_within_than_step_by_step_from_outside() -> None:
    measure = PAGE_GAMES[GAMES.index("meteors")]
    assert not measure.by_default
    figures = measure.run(BenchOptions(rounds=1, quick=True))
    assert tuple(figures) == names_of("meteors")
    # It does 2,000 times real time on a quiet machine, and the usual way a fiftieth of that.
    assert figures["page_games/meteors_4_pages"].ratio is not None
    assert figures["page_games/meteors_4_pages"].value > 100 * 60
    assert figures["page_games/meteors_by_evaluate"].detail["times_slower"] > 3
    assert figures["page_games/meteors_reload_ms"].value > figures["page_games/meteors_restart_ms"].value
    assert 0.5 < figures["page_games/meteors_page_mib"].value < 50


def test_a_figure_is_the_players_rate_and_how_many_times_the_others():
    rounds = [{"player": 20_000.0, "inference": 10_000.0}, {"player": 10_000.0, "inference": 2_500.0}]
    figure = play_figure([*rounds, {"player": 40_000.0, "inference": 4_000.0}])
    assert figure.value == 20_000 and figure.ratio == 4
    assert figure.detail == {"player_us": 50, "onnx_runtime_us": 250}


@pytest.mark.long
def test_both_decide_in_turns_in_one_page():
    figures = PLAY.run(BenchOptions(rounds=1, quick=True))
    assert tuple(figures) == PLAY.names
    for figure in figures.values():
        # No network takes less than a microsecond or more than a tenth of a second.
        assert 1 < figure.detail["player_us"] < 1e5 and 1 < figure.detail["onnx_runtime_us"] < 1e5
        assert figure.ratio == pytest.approx(figure.detail["onnx_runtime_us"] / figure.detail["player_us"])


@pytest.mark.long
@pytest.mark.alone
def test_the_way_of_a_version_to_the_last_worker_is_measured():
    figures = PUBLISH.run(BenchOptions(rounds=1, quick=True))
    assert tuple(figures) == PUBLISHED
    p50, p99 = (figures[name] for name in PUBLISHED)
    parts = p50.detail
    # On its way a version is durable, then sent, then with the first worker, then with the last.
    assert 0 < parts["until_durable_ms"] < parts["until_sent_ms"] < parts["until_first_worker_ms"] < p50.value
    assert p50.value <= p99.value
    assert parts["one_worker_create_ms"] > 0
    assert parts["encodings_per_version"] == 1


def test_work_counts_steps_and_samples() -> None:
    work = cartpole_work()
    # 1,024 segments of 32 steps, passed over four times.
    assert (work.num_steps, work.num_samples) == (32_768, 131_072)


@pytest.mark.parametrize("shared", [True, False])
def test_a_batch_says_what_its_policy_says_and_the_policy_comes_back_after_each_update(shared: bool) -> None:
    ready = ReadyUpdate(cartpole_work(shared_trunk=shared, num_steps=1024), torch.device("cpu"))
    before = evaluate_batch(ready.policy, ready.distribution, ready.batch)
    torch.testing.assert_close(before.log_probs, ready.batch.log_prob)
    torch.testing.assert_close(before.values, ready.batch.value)
    assert ready.batch.terminated.any() and ready.batch.truncated.any() and ready.batch.valid.all()
    assert ready.run() > 0
    after = evaluate_batch(ready.policy, ready.distribution, ready.batch)
    assert torch.equal(after.log_probs, before.log_probs)


SECONDS = {1: 4.0, 2: 2.0, 3: 3.0}
"""Our runs by seed; the second seed does not hold its goal."""


def ours(_game: str, *, seed: int, settings: dict[str, Any], metrics: Any) -> Training:
    assert settings["until_return"] == 475.0
    updates = [Update(1.0, 100, {}), Update(SECONDS[seed], 1000 * seed, {})]
    return Training({"goal_reached": seed != 2, "episode_return_mean": 490.0 - 100 * (seed == 2)}, updates)


def theirs(_name: str, request: BaselineRequest) -> BaselineReport:
    solved = None if request.seed == 3 else 12.0
    return BaselineReport(marks=[(10.0, 400), (30.0, 900)], solved_seconds=solved)


def test_each_seed_is_compared_with_its_own_and_what_was_not_reached_is_counted(
    monkeypatch: pytest.MonkeyPatch,
):
    requests: list[BaselineRequest] = []

    def baseline(name: str, request: BaselineRequest) -> BaselineReport:
        requests.append(request)
        return theirs(name, request)

    monkeypatch.setattr(solve, "train", ours)
    monkeypatch.setattr(solve, "run_baseline", baseline)
    said: list[str] = []
    figure = measure_solve(BenchOptions(rounds=3, say=said.append))["solve/cartpole_vs_sb3"]
    assert (figure.value, figure.rounds, figure.better) == (3.0, (4.0, 2.0, 3.0), "lower")
    # 12 / 4, 12 / 2 and, never solved, all of its 30 s / 3.
    assert figure.ratio == 6.0
    assert figure.detail["ratio_of_medians"] == 4.0  # 12 / 3
    assert (figure.detail["not_reached"], figure.detail["sb3_not_reached"]) == (1, 1)
    assert (figure.detail["steps"], figure.detail["sb3_steps"]) == (2000, 900)
    assert figure.detail["worst_evaluation"] == 390.0
    assert said[0] == "  seed 1: 4.00 s, Stable-Baselines3 12.00 s"
    steps = [
        request.iterations * request.num_environments * request.settings["n_steps"] for request in requests
    ]
    assert all(BASELINE_STEPS <= step < 1.2 * BASELINE_STEPS for step in steps), "its schedules end then"


BASELINE = Baseline("vs_it", "sb3", "gymnasium", "it", 2, skipped=1, shared_trunk=True, many=True)


def training_at(rate: float) -> Training:
    """So many steps a second after the updates that are left out, and none before."""
    marks = [Update(1.0 * second, 0, {}) for second in range(SKIPPED_UPDATES + 1)]
    return Training({}, [*marks, Update(SKIPPED_UPDATES + 1.0, int(rate), {})])


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> list[BaselineRequest]:
    """Ours reach 1000 times the seed, twice that with a shared trunk; theirs 100, of many games 400."""
    requests: list[BaselineRequest] = []

    def baseline(_name: str, request: BaselineRequest) -> BaselineReport:
        requests.append(request)
        rate = 400 if request.num_environments == versus.MANY_ENVIRONMENTS else 100
        shares = {"games": 1.0, "inference": 0.5, "learning": 0.25}
        return BaselineReport(marks=[(1.0, 5), (2.0, 5 + rate)], seconds_of=shares)

    def train(_updates: int, *, seed: int, shared_trunk: bool) -> Training:
        return training_at(1000 * seed * (1 + shared_trunk))

    monkeypatch.setattr(versus, "run_baseline", baseline)
    monkeypatch.setattr(versus, "train_cartpole", train)
    return requests


def test_rates_are_compared_round_by_round(trainings: list[BaselineRequest]):
    figure = measure_versus(BASELINE, BenchOptions(rounds=3))["end_to_end/vs_it"]
    assert (figure.value, figure.rounds, figure.ratio) == (2000.0, (1000.0, 2000.0, 3000.0), 20.0)
    detail = figure.detail
    assert detail["baseline_steps_per_second"] == 100.0
    assert (detail["shared_trunk_steps_per_second"], detail["shared_trunk_ratio"]) == (4000.0, 40.0)
    assert (detail["ratio_512"], detail["shared_trunk_ratio_512"]) == (5.0, 10.0)
    assert (detail["baseline_games_share"], detail["baseline_learning_share"]) == (0.5, 0.125)
    assert sorted({(training.seed, training.num_environments) for training in trainings}) == [
        (seed, count) for seed in (1, 2, 3) for count in (16, 512)
    ]


def test_a_slow_baseline_is_seen_in_fewer_rounds(trainings: list[BaselineRequest]):
    slow = Baseline("vs_it", "sb3", "page_evaluate", "it", 1, skipped=0, max_rounds=1)
    figure = measure_versus(slow, BenchOptions(rounds=5))["end_to_end/vs_it"]
    assert len(figure.rounds) == len(trainings) == 1
    assert "shared_trunk_ratio" not in figure.detail


def test_a_quick_round_has_a_short_rollout():
    quick, whole = (BASELINE.order(1, 16, quick=quick).settings["n_steps"] for quick in (True, False))
    assert (quick, whole) == (128, 2048)


def test_each_baseline_is_a_measure_that_runs_when_asked_for():
    assert [measure.names for measure in VERSUS] == [
        (f"end_to_end/{baseline.figure}",) for baseline in BASELINES
    ]
    needs: Any = {measure.names[0]: measure.needs for measure in VERSUS}
    assert needs["end_to_end/vs_minimal_ppo"] == ("gymnasium",)
    assert not any(measure.by_default for measure in VERSUS)


@pytest.mark.long
def test_what_a_block_costs_is_measured_beside_its_bare_parts():
    figures = WIRE.run(BenchOptions(rounds=1, quick=True))
    assert tuple(figures) == NAMES + PIXEL_NAMES
    assert all(math.isfinite(figure.value) and figure.value > 0 for figure in figures.values())
    wire, cpu = figures["wire/ms_per_mib"], figures["gateway/cpu_ms_per_mib"]
    # A bare socket and a copy are parts of what the gateway does.
    assert 0 < wire.detail["copy_ms_per_mib"] < wire.value
    assert 0 < cpu.detail["bare_cpu_ms_per_mib"] < cpu.value
    assert wire.value < cpu.detail["bare_cpu_ms_per_mib"] + 10 * cpu.value
    assert cpu.detail["mib_s"] < figures["wire/bare_socket_mib_s"].value
    assert cpu.ratio == pytest.approx(cpu.detail["bare_cpu_ms_per_mib"] / cpu.value)


class Stalled:
    """Clients of a gateway that hears nothing for so many bursts."""

    def __init__(self, bursts: int) -> None:
        self._left = bursts

    async def ask(self, *_: Any) -> Outcome:
        self._left -= 1
        return Outcome(num_bytes=10, num_blocks=int(self._left < 0), seconds=0.1)


async def test_a_burst_that_a_stall_swallowed_is_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = await wire_bench._burst(cast(Child, Stalled(2)), "gateway", 0.1, 1)
    assert outcome.num_blocks == 1
    monkeypatch.setattr(wire_bench, "STALL_SECONDS", 0.0)
    with pytest.raises(RuntimeError, match="expected blocks"):
        await wire_bench._burst(cast(Child, Stalled(1000)), "gateway", 0.1, 1)
