"""The real gateway under the load of real sockets, as short as it can be."""

import math

import pytest

from attract.bench.measure import BenchOptions
from attract.bench.wire import NAMES, PIXEL_NAMES, WIRE


def test_what_a_block_costs_is_measured_beside_its_bare_parts():
    figures = WIRE.run(BenchOptions(rounds=1, quick=True))
    assert tuple(figures) == NAMES + PIXEL_NAMES
    assert all(math.isfinite(one.value) and one.value > 0 for one in figures.values())
    wire, cpu = figures["wire/ms_per_mib"], figures["gateway/cpu_ms_per_mib"]
    # A bare socket and a copy are parts of what the gateway does.
    assert 0 < wire.detail["copy_ms_per_mib"] < wire.value
    assert 0 < cpu.detail["bare_cpu_ms_per_mib"] < cpu.value
    assert wire.value < cpu.detail["bare_cpu_ms_per_mib"] + 10 * cpu.value
    assert cpu.detail["mib_s"] < figures["wire/bare_socket_mib_s"].value
    assert cpu.ratio == pytest.approx(cpu.detail["bare_cpu_ms_per_mib"] / cpu.value)
