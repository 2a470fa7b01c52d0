import pytest
import torch

from attract.learner.process.machine import default_threads, resolve_device


def test_the_device_is_the_one_asked_for_and_one_thread_is_enough_for_a_small_machine(
    monkeypatch: pytest.MonkeyPatch,
):
    assert resolve_device("cpu") == torch.device("cpu")
    assert resolve_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    for cores, threads in ((1, 1), (2, 1), (4, 1), (16, 8)):
        monkeypatch.setattr("attract.learner.process.machine.usable_cores", lambda cores=cores: cores)
        assert default_threads() == threads
