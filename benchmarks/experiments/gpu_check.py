"""Ten checks on a GPU, before a figure of one is published: results go into docs/notebook/gpu.md.

`make gpu-check`. Without a CUDA device it says so and ends with 2.
`--small --device cpu` tries the script out on any machine, in less than a minute, and writes nothing.
"""

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from attract.errors import ConfigurationError
from attract.experience.batch import Batch
from attract.learner.algorithms.batch_evaluation import evaluate_batch
from attract.learner.checkpoints.checkpoint import weights_sha256
from attract.learner.ppo.report import ScheduledHyperparameters
from attract.learner.ppo.update import create_optimizer, ppo_update
from attract.policy.export import OnnxPatcher
from attract.policy.network import build_policy
from attract.policy.parity import probe
from attract.schema.game import GameDescription
from attract.schema.learner import Warmup
from attract.schema.messages import Seed
from attract.schema.spaces import BoxSpace
from attract.settings.run import PolicySettings, PpoSettings
from attract.vector.batch import StepBatch
from attract.vector.serving.decider import OnnxDecider
from attract_benchmarks.speed.ready_update import ReadyUpdate, cartpole_work, segments_work
from batches import build, play
from learner_world import LearnerHere, LearnerProcess, SignsFleet, begin_for, describe_signs, train_message

PAGE = Path(__file__).resolve().parents[2] / "docs" / "notebook" / "gpu.md"
BEGIN, END = "<!-- measured -->", "<!-- /measured -->"
RATES = ScheduledHyperparameters(learning_rate=1e-3, clip_range=0.2, entropy_coef=0.01)
PROFILED_MINIBATCHES = 4
"""Minibatches of one pass in the update whose launches are counted."""
TOLERANCE = 1e-5
"""Tolerance of rule C9; C7 begins with 1e-4."""


@dataclass(frozen=True)
class Sizes:
    """How large the checks are."""

    minibatches: tuple[int, ...] = (512, 4_096, 16_384, 65_536)
    update_steps: int = 524_288
    segments: int = 8_192
    image: int = 84
    image_segments: int = 64
    upload_mib: int = 1_024
    slots: int = 4_080
    decisions: int = 500
    tests: tuple[str, ...] = ()


SMALL = Sizes(
    (512, 1_024), 2_048, 32, 16, 4, 1, 64, 5, ("--collect-only", "tests/backend/policy/test_network.py")
)
"""For machines without a GPU: every line is run, no figure means anything."""


@dataclass(frozen=True)
class Answer:
    """What one check gave."""

    name: str
    figures: str
    is_right: bool | None = None
    """None: a figure, neither right nor wrong."""


Check = Callable[[torch.device, Sizes], Iterator[Answer]]


def run_gpu_tests(_device: torch.device, sizes: Sizes) -> Iterator[Answer]:
    """1: `pytest -m gpu`."""
    # Only the files that have such tests: others import what a machine lent for its GPU need not have.
    root = PAGE.parents[2]
    tests = sizes.tests or sorted(
        str(file.relative_to(root))
        for file in (root / "tests").rglob("test_*.py")
        if "@pytest.mark.gpu" in file.read_text(encoding="utf-8")
    )
    command = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", *tests]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=root, check=False)
    last = (ended.stdout.strip().splitlines() or [ended.stderr.strip()])[-1]
    yield Answer("`pytest -m gpu`", last, ended.returncode == 0)


def compare_precision(device: torch.device, sizes: Sizes) -> Iterator[Answer]:
    """2: C7 and C9 of convolutions, with TensorFloat-32 and without."""
    for cnn in ("small", "impala"):
        policy, distribution = build(observation=_image(sizes), cnn=cnn)
        batch = play(policy, distribution, horizon=4, slots=4, runs=1)
        seen = probe(policy)
        with torch.no_grad():
            expected = torch.cat([part.flatten() for part in policy(seen)])
            judged = evaluate_batch(policy, distribution, batch)
            policy.to(device)
            on_device = {key: array.to(device) for key, array in seen.items()}
            with _tf32(allowed=True):
                rough = torch.cat([part.flatten() for part in policy(on_device)])
            with _tf32(allowed=False):
                exact = torch.cat([part.flatten() for part in policy(on_device)])
            with _tf32(allowed=True):
                again = evaluate_batch(policy, distribution, _moved(batch, device))
        kept, far = _difference(exact, expected), _difference(rough, expected)
        yield Answer(f"C9, {cnn} CNN", f"off {kept:.1e}, on {far:.1e}", kept <= TOLERANCE)
        said = max(_difference(again.values, judged.values), _difference(again.log_probs, judged.log_probs))
        yield Answer(f"C7, {cnn} CNN, as the learner judges", f"{said:.1e}", said <= 1e-4)


def measure_minibatches(device: torch.device, sizes: Sizes) -> Iterator[Answer]:
    """3: samples a second by size of the minibatch, and what is launched for each."""
    for size in sizes.minibatches:
        ready = _ready_update(sizes.update_steps, size, device)
        ready.run()
        rate = ready.work.num_samples / min(ready.run() for _ in range(3))
        # A profile of the whole update would hold 400,000 events, and take minutes to read.
        short = _ready_update(PROFILED_MINIBATCHES * size, size, device)
        launches = _num_launches(short.update, device) / short.update().num_minibatches
        yield Answer(
            f"update, minibatches of {size:,}", f"{rate:,.0f} samples/s, {launches:.0f} launches each"
        )


def measure_segments(device: torch.device, sizes: Sizes) -> Iterator[Answer]:
    """4: one pass over recurrent segments."""
    ready = ReadyUpdate(segments_work(sizes.segments), device)
    ready.run()
    rate = ready.work.num_samples / min(ready.run() for _ in range(2))
    yield Answer(f"LSTM, {sizes.segments:,} segments of 64", f"{rate:,.0f} samples/s")


def measure_memory(device: torch.device, sizes: Sizes) -> Iterator[Answer]:
    """5: peak memory of evaluating and of an update on images."""
    for cnn in ("small", "impala"):
        policy, distribution = build(observation=_image(sizes), cnn=cnn)
        batch = _moved(play(policy, distribution, horizon=64, slots=sizes.image_segments, runs=1), device)
        policy.to(device)
        peaks = [
            _peak_mib(lambda: evaluate_batch(policy, distribution, batch), device),  # noqa: B023
            _peak_mib(lambda: _update(policy, distribution, batch), device),  # noqa: B023
        ]
        shown = (
            "no peak on a CPU"
            if peaks[0] is None
            else f"evaluate_batch {peaks[0]:.0f}, update {peaks[1]:.0f} MiB"
        )
        yield Answer(
            f"{cnn} CNN, {sizes.image_segments} segments of {sizes.image} x {sizes.image} x 3", shown
        )


def compare_two_runs(device: torch.device, _sizes: Sizes) -> Iterator[Answer]:
    """6: whether the same seed gives the same weights; C8 promises it for a CPU alone."""
    kinds: dict[str, dict[str, Any]] = {
        "MLP": {},
        "LSTM": {"recurrent": "lstm"},
        "IMPALA": {"observation": BoxSpace(shape=[16, 16, 3], dtype="uint8"), "cnn": "impala"},
    }
    for name, network in kinds.items():
        hashes: set[str] = set()
        for _ in range(2):
            policy, distribution = build(**network)
            batch = _moved(play(policy, distribution, slots=8), device)
            _update(policy.to(device), distribution, batch)
            hashes.add(weights_sha256(policy.state_dict()))
        is_same = len(hashes) == 1
        promised = is_same if device.type == "cpu" else None
        yield Answer(f"same seed twice, {name}", "equal" if is_same else "differ", promised)


def resume_across(device: torch.device, _sizes: Sizes) -> Iterator[Answer]:
    """7: a run goes on from the CPU on the device, and back."""
    with tempfile.TemporaryDirectory() as folder:
        fleet = SignsFleet(Path(folder) / "store", num_slots=8, horizon=16, seed=1)
        last, equal = None, True
        for name in ("cpu", device.type, "cpu"):
            begin = begin_for(fleet, Path(folder) / "run", device=name, resume=last is not None)
            with LearnerHere(begin) as here:
                ready: Any = here.ready
                equal &= last is None or ready.weights_sha256 == last.weights_sha256
                first: Any = here.ask(Warmup(rows=fleet.play(None, 0))) if ready.needs_warmup else ready
                rows = fleet.play(first.onnx, first.policy_version)
                last = here.ask(train_message(first.policy_version, rows, 16))
                equal &= not last.rejected
        fleet.close()
    yield Answer(
        f"resume cpu, {device.type}, cpu", "the same weights, none refused" if equal else "NOT", equal
    )


def measure_uploads(device: torch.device, sizes: Sizes) -> Iterator[Answer]:
    """8: seconds of an upload from pageable and from pinned memory."""
    pageable = torch.zeros(sizes.upload_mib << 20, dtype=torch.uint8)
    taken = [_seconds(lambda: pageable.to(device, copy=True), device)]
    if device.type == "cuda":
        pinned = pageable.pin_memory()
        taken.append(_seconds(lambda: pinned.to(device, non_blocking=True), device))
    shown = ", ".join(
        f"{name} {seconds:.3f} s" for name, seconds in zip(("pageable", "pinned"), taken, strict=False)
    )
    yield Answer(f"upload of {sizes.upload_mib} MiB", shown)


def measure_decisions(device: torch.device, sizes: Sizes) -> Iterator[Answer]:
    """9: central inference, with the learner at rest and at work on the same device."""
    game = describe_signs(num_inputs=64)
    policy = build_policy(PolicySettings(), game, seed=1)
    try:
        decider = OnnxDecider(game, Seed(low=1, high=2), device="cuda" if device.type == "cuda" else "cpu")
        decider.add(0, OnnxPatcher(policy).patched(policy.state_dict()))
    except ConfigurationError as error:
        yield Answer("central inference", f"not run: {error}", is_right=False)
        return
    batch, state = _observed(game, sizes.slots), np.zeros((sizes.slots, 0), np.float32)
    ready = ReadyUpdate(cartpole_work(num_steps=sizes.update_steps), device)
    over = threading.Event()

    def learn() -> None:
        while not over.is_set():
            ready.run()

    for what in ("at rest", "at work"):
        learner = threading.Thread(target=learn)
        if what == "at work":
            learner.start()
        taken = [_seconds(lambda: decider.decide(0, batch, state), device) for _ in range(sizes.decisions)]
        over.set()
        if what == "at work":
            learner.join()
        over.clear()
        p50, p99 = (1e3 * float(np.percentile(taken, share)) for share in (50, 99))
        yield Answer(
            f"`recv` of {sizes.slots:,} slots, learner {what}", f"median {p50:.1f} ms, p99 {p99:.1f} ms"
        )


def kill_during_an_update(device: torch.device, _sizes: Sizes) -> Iterator[Answer]:
    """10: what was announced is there after `kill -9`, and training goes on from it."""
    with tempfile.TemporaryDirectory() as folder:
        fleet = SignsFleet(Path(folder) / "store", num_slots=8, horizon=16, seed=1)
        # Long enough to be killed in.
        begin = begin_for(
            fleet,
            Path(folder) / "run",
            device=device.type,
            # Without a target of the KL divergence no epoch is left out.
            ppo={"n_epochs": 1000, "num_minibatches": 16, "target_kl": None},
        )
        with LearnerProcess() as learner:
            learner.send(begin)
            learner.receive()
            learner.send(Warmup(rows=fleet.play(None, 0)))
            announced: Any = learner.receive()
            learner.send(train_message(0, fleet.play(announced.onnx, 0), 16))
            was_busy = learner.is_silent_for(0.5)
            learner.process.kill()
        with LearnerHere(
            begin_for(fleet, Path(folder) / "run", device=device.type, resume=True, ppo={"n_epochs": 2})
        ) as here:
            ready: Any = here.ready
            kept = was_busy and ready.weights_sha256 == announced.weights_sha256
            rows = fleet.play(ready.onnx, ready.policy_version)
            after: Any = here.ask(train_message(ready.policy_version, rows, 16))
            kept &= after.policy_version == announced.policy_version + 1 and not after.rejected
        fleet.close()
    yield Answer("`kill -9` in an update", "goes on from what was announced" if kept else "NOT", kept)


CHECKS: tuple[Check, ...] = (
    run_gpu_tests,
    compare_precision,
    measure_minibatches,
    measure_segments,
    measure_memory,
    compare_two_runs,
    resume_across,
    measure_uploads,
    measure_decisions,
    kill_during_an_update,
)


def table(answers: list[Answer], device: str, day: str) -> str:
    """What is written between the page's marks."""
    verdicts = {True: "yes", False: "**no**", None: ""}
    lines = [f"{device}, {day}.", "", "| Check | Found | As it should be |", "|---|---|---|"]
    lines += [
        f"| {answer.name} | {' '.join(answer.figures.split())} | {verdicts[answer.is_right]} |"
        for answer in answers
    ]
    return "\n".join(lines)


def write_page(page: Path, text: str) -> None:
    """Put `text` between the marks of the page. Raises: ValueError: when it has none."""
    before, mark, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise ValueError(f"{page}: expected {BEGIN} and {END}")
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


def main(arguments: list[str]) -> int:
    """0: all as it should be; 1: something is not; 2: there is no device."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--small", action="store_true", help="try it out; writes nothing")
    given = parser.parse_args(arguments)
    if given.device == "cuda" and not torch.cuda.is_available():
        print("torch finds no CUDA device: nothing was checked, docs/notebook/gpu.md stays as it is")
        return 2
    device, sizes = torch.device(given.device), SMALL if given.small else Sizes()
    answers: list[Answer] = []
    for check in CHECKS:
        for answer in check(device, sizes):
            print(
                f"{answer.name}: {answer.figures}{' - WRONG' if answer.is_right is False else ''}", flush=True
            )
            answers.append(answer)
    if device.type == "cuda" and not given.small:
        name = f"{torch.cuda.get_device_name()}, torch {torch.__version__}"
        write_page(PAGE, table(answers, name, datetime.now(UTC).strftime("%Y-%m-%d")))
    return 1 if any(answer.is_right is False for answer in answers) else 0


def _ready_update(num_steps: int, minibatch_steps: int, device: torch.device) -> ReadyUpdate:
    work = cartpole_work(num_steps=num_steps)
    ppo = work.ppo.model_copy(update={"minibatch_steps": minibatch_steps})
    return ReadyUpdate(replace(work, ppo=ppo), device)


def _image(sizes: Sizes) -> BoxSpace:
    return BoxSpace(shape=[sizes.image, sizes.image, 3], dtype="uint8")


@contextmanager
def _tf32(*, allowed: bool) -> Iterator[None]:
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = allowed
    try:
        yield
    finally:
        torch.backends.cudnn.allow_tf32 = before


def _difference(got: Tensor, expected: Tensor) -> float:
    return float(((got.cpu() - expected).abs() / expected.abs().clamp(min=1.0)).max())


def _moved(batch: Any, device: torch.device) -> Any:
    """A dataclass of tensors on `device`."""

    def move(value: Any) -> Any:
        if isinstance(value, Tensor):
            return value.to(device)
        if isinstance(value, dict):
            return {key: move(item) for key, item in value.items()}
        return _moved(value, device) if is_dataclass(value) else value

    return replace(batch, **{field.name: move(getattr(batch, field.name)) for field in fields(batch)})


def _update(policy: Any, distribution: Any, batch: Batch) -> None:
    settings = PpoSettings(n_epochs=2, num_minibatches=2)
    generator = torch.Generator().manual_seed(0)
    optimizer = create_optimizer(policy, RATES.learning_rate)
    ppo_update(policy, optimizer, batch, settings, generator, distribution=distribution, rates=RATES)


def _num_launches(function: Callable[[], object], device: torch.device) -> int:
    """Kernels on a GPU; on a CPU operators, which is what would be launched."""
    kinds = {ProfilerActivity.CPU} | ({ProfilerActivity.CUDA} if device.type == "cuda" else set())
    with profile(activities=list(kinds)) as seen:
        function()
    events = seen.events() or []
    if device.type == "cuda":
        return sum(len(event.kernels) for event in events)
    return sum(event.name.startswith("aten::") for event in events)


def _peak_mib(function: Callable[[], object], device: torch.device) -> float | None:
    if device.type != "cuda":
        function()
        return None
    torch.cuda.reset_peak_memory_stats()
    function()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() / 2**20


def _seconds(function: Callable[[], object], device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize()
    started = time.perf_counter()
    function()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - started


def _observed(game: GameDescription, slots: int) -> StepBatch:
    numbers, no = np.arange(slots), np.zeros(slots, bool)
    shape = game.observation.shape  # type: ignore[union-attr]
    return StepBatch(
        group=0,
        slots=slice(0, slots),
        slot_id=numbers,
        num_outcomes=0,
        slot_step=numbers * 0,
        observation={"obs": np.random.default_rng(0).normal(size=(slots, *shape)).astype(np.float32)},
        action_mask=None,
        active=~no,
        episode=numbers * 0,
        episode_step=numbers * 0,
        reward=np.zeros(slots, np.float32),
        terminated=no,
        truncated=no,
        valid=no,
        executed_ticks=np.zeros(slots, np.uint16),
        final_column=np.zeros(0, np.int64),
        final_observation={},
        episodes=(),
        step_seconds=0.0,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
