"""What a figure was measured on."""

import platform

import pytest

from attract.benchmarks.harness import machine
from attract.processes.cores import usable_cores


def test_a_machine_is_its_cores_and_the_versions_that_decide_the_speed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(machine, "PACKAGES", ("numpy", "no_such_package"))
    words = machine.describe_machine().split(", ")
    assert words[0] == f"{usable_cores()} cores"
    assert f"Python {platform.python_version()}" in words
    assert words[-1].startswith("numpy ")
