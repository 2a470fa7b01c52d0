import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from attract.learner.group.store import CHUNK_BYTES, KeyValueStore, StoreLostError
from servers import free_port

LIMIT_SECONDS = 30.0


def opened(port: int, *, serves: bool = False) -> KeyValueStore:
    return KeyValueStore.open("127.0.0.1", port, LIMIT_SECONDS, serves=serves)


def test_the_first_value_that_is_set_is_read_by_all():
    port = free_port()
    kept = opened(port, serves=True)
    other = opened(port)
    assert other.set_default("out", "one") == "one"
    assert kept.set_default("out", "two") == "one"
    assert kept.compare_and_set("out", "two", "three") == "one"
    assert kept.compare_and_set("out", "one", "three") == "three"
    assert (other.read(["out"]), other.has("out"), other.has("in")) == (["three"], True, False)
    assert (kept.add("beats", 2), other.add("beats", 0)) == (2, 2)


def test_much_goes_over_it_in_parts_and_what_is_deleted_is_none():
    port = free_port()
    kept = opened(port, serves=True)
    other = opened(port)
    # More than a TCPStore takes at once.
    data = bytes(range(256)) * 4096 * 9 + b"end"
    name = other.put("share", data)
    assert name.startswith("share/") and name.endswith("/10")
    assert len(data) > 8 * CHUNK_BYTES
    # Only once the last of them is there do they count.
    assert other.set_default("posted", "yes") == "yes"
    assert kept.get(name) == data
    kept.delete(name)
    assert kept.get(name) is None
    assert kept.get(kept.put("nothing", b"")) == b""


def test_scale_12_a_board_whose_process_is_gone_is_lost_at_once():
    port = free_port()
    kept = opened(port, serves=True)
    other = opened(port)
    other.write("key", "value")
    del kept
    with pytest.raises(StoreLostError):
        other.read(["key"])
    with pytest.raises(StoreLostError, match="refused"):
        opened(port)


def test_scale_12_a_network_that_swallows_everything_is_noticed_in_time():
    # The kernel accepts the connection, but no process reads from it.
    silent = socket.create_server(("127.0.0.1", 0))
    with silent, pytest.raises(StoreLostError, match=r"for 0\.5 s"):
        KeyValueStore.open("127.0.0.1", silent.getsockname()[1], 0.5, serves=False)


def test_who_comes_before_the_store_tries_again():
    port = free_port()
    with ThreadPoolExecutor(1) as pool:
        early = pool.submit(
            KeyValueStore.open, "127.0.0.1", port, LIMIT_SECONDS, serves=False, patience_seconds=20.0
        )
        with pytest.raises(TimeoutError):
            early.result(0.3)
        kept = opened(port, serves=True)
        kept.write("key", "value")
        assert early.result(20).read(["key"]) == ["value"]
