"""`make gpu-check` still runs, on the CPU and small, so that it is whole on the day a device is there."""

from pathlib import Path

import pytest
import torch

import gpu_check
from gpu_check import CHECKS, SMALL, Answer, main, table, write_page


@pytest.fixture(autouse=True)
def one_thread():
    """With more, other tests' processes stall torch's barriers."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


# What these find is tested of the CPU by the tests that they run, and in backend/learner.
LONG = (gpu_check.run_gpu_tests, gpu_check.measure_minibatches, gpu_check.kill_during_an_update)


@pytest.mark.parametrize(
    "check",
    [pytest.param(check, marks=[pytest.mark.long] if check in LONG else []) for check in CHECKS],
    ids=lambda check: check.__name__,
)
def test_every_part_runs_on_the_cpu_and_finds_what_it_should(check: gpu_check.Check):
    answers = list(check(torch.device("cpu"), SMALL))
    assert answers and all(answer.figures for answer in answers)
    assert not [answer for answer in answers if answer.is_right is False]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_device_it_says_so_and_touches_nothing(capsys: pytest.CaptureFixture[str]):
    before = gpu_check.PAGE.read_text()
    assert main([]) == 2
    assert "no CUDA device" in capsys.readouterr().out
    assert gpu_check.PAGE.read_text() == before


def test_figures_take_the_place_of_those_before(tmp_path: Path):
    page = tmp_path / "gpu.md"
    page.write_text(gpu_check.PAGE.read_text())
    for day in ("2027-01-01", "2027-01-02"):
        found = [
            Answer("C9", "off 1e-6, on 1e-3", is_right=True),
            Answer("update", "3 samples/s,\n  2 launches"),
        ]
        write_page(page, table([*found, Answer("C7", "0.1", is_right=False)], "A GPU", day))
    text = page.read_text()
    assert text.count("A GPU, 2027-01-02.") == 1 and "2027-01-01" not in text
    assert "| C9 | off 1e-6, on 1e-3 | yes |" in text and "| C7 | 0.1 | **no** |" in text
    assert "| update | 3 samples/s, 2 launches |" in text
    assert text.startswith("# On a GPU") and text.rstrip().endswith(gpu_check.END)
    page.write_text("nothing to write between")
    with pytest.raises(ValueError, match="expected <!-- measured -->"):
        write_page(page, "")
