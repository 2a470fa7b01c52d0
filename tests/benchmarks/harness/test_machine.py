"""What a figure was measured on."""

import platform
import re
from importlib import metadata

import pytest

from attract.processes.cores import usable_cores
from attract_benchmarks.harness import machine


def test_a_machine_is_its_cores_and_the_versions_that_decide_the_speed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(machine, "PACKAGES", ("numpy", "no_such_package"))
    words = machine.describe_machine().split(", ")
    assert words[0] == f"{usable_cores()} cores"
    assert f"Python {platform.python_version()}" in words
    assert words[-1].startswith("numpy ")


def test_the_code_is_named_by_its_commit_and_without_one_by_its_version(monkeypatch: pytest.MonkeyPatch):
    assert re.fullmatch(r"[0-9a-f]{7,40}(-dirty)?|version \S+", machine.describe_code())
    monkeypatch.setenv("PATH", "")
    assert machine.describe_code() == f"version {metadata.version('attract')}"
