import pytest

from attract.learner.process import machine
from attract.learner.process.machine import default_threads, resolve_device, threads_for
from attract.settings.run import RunSettings
from learner_world import describe_signs


def test_one_thread_is_enough_for_a_small_machine(
    monkeypatch: pytest.MonkeyPatch,
):
    for cores, threads in ((1, 1), (2, 1), (4, 1), (16, 8)):
        monkeypatch.setattr("attract.learner.process.machine.usable_cores", lambda cores=cores: cores)
        assert default_threads() == threads


@pytest.mark.parametrize(
    ("device", "policy", "has_gpu", "expected"),
    [
        ("cpu", {}, True, "cpu"),
        ("cuda", {}, True, "cuda"),
        ("auto", {"recurrent": "lstm"}, False, "cpu"),
        # A small network of dense layers is faster on the CPU.
        ("auto", {}, True, "cpu"),
        ("auto", {"hidden_sizes": [512, 512]}, True, "cuda"),
        ("auto", {"recurrent": "lstm"}, True, "cuda"),
    ],
)
def test_a_gpu_is_taken_where_it_is_asked_for_or_has_enough_to_do(
    device: str, policy: dict[str, object], has_gpu: bool, expected: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("torch.cuda.is_available", lambda: has_gpu)
    settings = RunSettings.model_validate({"device": device, "policy": policy})
    assert resolve_device(settings, describe_signs()).type == expected


@pytest.mark.parametrize(
    ("given", "threads"),
    [
        ({}, 5),
        ({"learner_threads": 3}, 3),
        # C8: what else the machine does must not reach the bits.
        ({"collection": {"schedule": "sync"}}, 8),
    ],
)
def test_C8_threads_are_measured_unless_they_are_given_or_bits_must_repeat(
    given: dict[str, object], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "usable_cores", lambda: 16)
    asked: list[tuple[int, int]] = []

    def measure(cores: int, num_workers: int) -> int:
        asked.append((cores, num_workers))
        return 5

    monkeypatch.setattr(machine, "measured_threads", measure)
    assert threads_for(RunSettings.from_mapping(given)) == threads
    assert asked == ([(16, 2)] if threads == 5 else [])
