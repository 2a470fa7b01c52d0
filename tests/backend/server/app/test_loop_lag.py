import asyncio
import contextlib
import time

from attract.server.app import WINDOW_SAMPLES, LoopLag
from waiting import until


async def test_watched_what_holds_the_event_loop_up_is_seen():
    lag = LoopLag()
    watching = asyncio.create_task(lag.watch())
    await asyncio.sleep(0)
    # Longer than a sample's sleep: it wakes at least so much too late.
    time.sleep(0.6)  # noqa: ASYNC251 - that is what is looked for
    await until(lambda: lag.largest_seconds > 0.0, 20.0)
    assert lag.largest_seconds >= 0.3
    watching.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await watching


def test_half_a_minute_later_it_is_forgotten():
    lag = LoopLag()
    lag.add(2.0)
    for _ in range(WINDOW_SAMPLES - 1):
        lag.add(0.001)
    assert lag.largest_seconds == 2.0
    lag.add(0.001)
    assert lag.largest_seconds == 0.001
    lag.add(-0.5)
    assert min(lag._samples) == 0.0
