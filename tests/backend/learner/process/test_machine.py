import pytest
import torch

from attract.learner.process import machine
from attract.learner.process.machine import default_threads, resolve_device, threads_for
from attract.settings.run import RunSettings


def test_the_device_is_the_one_asked_for_and_one_thread_is_enough_for_a_small_machine(
    monkeypatch: pytest.MonkeyPatch,
):
    assert resolve_device("cpu") == torch.device("cpu")
    assert resolve_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    for cores, threads in ((1, 1), (2, 1), (4, 1), (16, 8)):
        monkeypatch.setattr("attract.learner.process.machine.usable_cores", lambda cores=cores: cores)
        assert default_threads() == threads


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
