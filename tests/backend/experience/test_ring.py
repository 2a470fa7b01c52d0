import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attract.errors import StoreError
from attract.experience.ring import FrameRing, RingPlace, ring_path
from attract.experience.store import remove_stale


def pair(folder: Path, size: int) -> tuple[FrameRing, FrameRing]:
    writer = FrameRing.create(folder / "ring.bin", size)
    return writer, FrameRing.open(writer.path)


def test_frames_come_out_as_they_went_in(tmp_path: Path):
    writer, reader = pair(tmp_path, 100)
    places = [writer.put(bytes([value]) * 10) for value in range(3)]
    assert places == [RingPlace(0, 10), RingPlace(10, 10), RingPlace(20, 10)]
    assert [reader.take(place) for place in places if place] == [bytes([value]) * 10 for value in range(3)]


def test_a_full_ring_takes_nothing_until_the_reader_has_been_there(tmp_path: Path):
    writer, reader = pair(tmp_path, 100)
    first = writer.put(b"a" * 60)
    assert first is not None
    assert writer.put(b"b" * 60) is None
    reader.take(first)
    # In one piece: not at 60, where only 40 are left, but at the start again.
    second = writer.put(b"b" * 60)
    assert second == RingPlace(100, 60)
    assert reader.take(second) == b"b" * 60


def test_a_frame_larger_than_the_ring_never_fits(tmp_path: Path):
    writer, _ = pair(tmp_path, 100)
    assert writer.put(b"x" * 101) is None
    assert writer.put(b"x" * 100) == RingPlace(0, 100)


@given(st.lists(st.integers(0, 400), max_size=200))
def test_whatever_the_sizes_no_frame_overwrites_one_that_was_not_taken(turns: list[int]):
    """Each turn puts a frame of that size, each 0 takes the oldest."""
    with tempfile.TemporaryDirectory() as folder:
        writer, reader = pair(Path(folder), 1000)
        waiting: list[tuple[RingPlace, bytes]] = []
        for turn, size in enumerate(turns):
            if size:
                frame = bytes([turn % 256]) * size
                place = writer.put(frame)
                if place is not None:
                    waiting.append((place, frame))
                else:
                    assert waiting, "an empty ring has room"
            elif waiting:
                place, frame = waiting.pop(0)
                assert reader.take(place) == frame
        assert [reader.take(place) for place, _ in waiting] == [frame for _, frame in waiting]


def test_a_place_outside_the_ring_is_refused(tmp_path: Path):
    _, reader = pair(tmp_path, 100)
    with pytest.raises(ValueError, match="within 100 bytes"):
        reader.take(RingPlace(90, 20))


def test_a_ring_that_is_not_there_or_there_already_is_an_error(tmp_path: Path):
    with pytest.raises(StoreError, match="cannot be opened"):
        FrameRing.open(tmp_path / "none.bin")
    FrameRing.create(tmp_path / "ring.bin", 100)
    with pytest.raises(StoreError, match="cannot be created"):
        FrameRing.create(tmp_path / "ring.bin", 100)


def test_an_abandoned_ring_is_removed_like_a_store(tmp_path: Path):
    path = tmp_path / ring_path(tmp_path, "run-1", "inbound", 100).name
    ring = FrameRing.create(path, 100)
    assert remove_stale(tmp_path) == []
    ring.close()
    assert remove_stale(tmp_path) == [path]


def test_the_creator_takes_the_file_away(tmp_path: Path):
    ring = FrameRing.create(tmp_path / "ring.bin", 100)
    ring.close(unlink=True)
    ring.close(unlink=True)
    assert list(tmp_path.iterdir()) == []
