"""The real gateway under the load of real sockets, as short as it can be."""

import math
from typing import Any, cast

import pytest

from attract_benchmarks.harness.child import Child
from attract_benchmarks.harness.measure import BenchOptions
from attract_benchmarks.harness.socket_clients import Outcome
from attract_benchmarks.speed import wire as wire_bench
from attract_benchmarks.speed.wire import NAMES, PIXEL_NAMES, WIRE


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
