"""Versions of a run, and the models that are made of them."""

import itertools
import shutil
from pathlib import Path
from typing import Any

import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attract.errors import CheckpointError, ConfigurationError
from attract.policy.export import OnnxPatcher, policy_metadata, shipped_model
from attract.policy.network import Policy
from attract.runs.version_model import POLICY_FILE, version_model
from attract.runs.versions import find_version, thinned
from attract.schema.spaces import BoxSpace, DiscreteSpace, MultiBinarySpace
from policies import create_policy, describe, randomise, save_version

VERSIONS = st.sets(st.integers(0, 100_000), min_size=1, max_size=400)


def test_a_short_run_keeps_every_version_and_a_long_one_a_part_of_each_width():
    assert thinned([]) == []
    assert thinned(list(range(40))) == list(range(40))
    # 40 parts of 1 reach to 39; 41 versions need parts of 2.
    assert thinned(list(range(41))) == sorted({*range(0, 41, 2), *range(21, 41)})
    # 12,345 lies within 40 parts of 512, and not within 40 of 256 (10,240): parts 0 to 24.
    assert thinned(list(range(12_346))) == sorted({*range(0, 12_346, 512), *range(12_326, 12_346)})


@settings(deadline=None)
@given(versions=VERSIONS)
def test_the_newest_and_the_first_stay_and_never_more_than_sixty(versions: set[int]):
    known, stays = sorted(versions), thinned(list(versions))
    assert stays == sorted(stays) and set(stays) <= versions
    assert stays[0] == known[0] and stays[-20:] == known[-20:]
    assert len(stays) <= 60
    assert thinned(stays) == stays


@settings(deadline=None)
@given(newest=st.integers(40, 1_000_000))
def test_twenty_to_forty_are_spread_evenly_whatever_the_length(newest: int):
    # 5,000 versions so close together that each part of any width holds one.
    close = sorted({*range(0, newest + 1, max(1, newest // 5000)), newest})
    spread = [version for version in thinned(close) if version not in close[-20:]]
    gaps = [later - earlier for earlier, later in itertools.pairwise(spread)]
    step = max(1, newest // 5000)
    assert 10 <= len(spread) <= 40
    assert all(abs(gap - gaps[0]) <= step for gap in gaps)
    assert newest / 40 - step <= gaps[0] <= newest / 20 + step


@settings(deadline=None)
@given(
    pauses=st.lists(st.integers(1, 90), min_size=1, max_size=60),
    start=st.integers(0, 3),
)
def test_thinned_again_and_again_a_run_keeps_what_it_would_have_kept_at_the_end(
    pauses: list[int], start: int
):
    there, newest = set(), start
    for pause in pauses:
        there |= set(range(newest, newest + pause))
        newest += pause
        there = set(thinned(list(there)))
    assert sorted(there) == thinned(list(range(start, newest)))


@pytest.mark.parametrize(
    ("name", "version"),
    [("12", 12), ("v12", 12), ("0", 0), (" Best ", 4), ("newest", 30), ("first", 0), ("030", 30)],
)
def test_a_version_is_named_by_number_or_word(name: str, version: int):
    assert find_version(name, [0, 4, 12, 30], 4, run_id="a") == version


def test_without_a_mark_the_best_is_the_newest():
    assert find_version("best", [3, 9], None, run_id="a") == 9


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("13", "version 13 is not there in a"),
        ("-1", "'-1' is no version in a"),
        ("1.5", "'1.5' is no version"),
        ("", "'' is no version"),
        ("oldest", "'oldest' is no version"),
        ("\u0664", "is no version"),
        ("9" * 30, "is no version"),
    ],
)
def test_what_names_no_version_is_refused_with_all_that_are_there(name: str, says: str):
    with pytest.raises(ConfigurationError, match=says) as refused:
        find_version(name, [0, 4, 12], 4, run_id="a")
    assert refused.value.setting == "--version"
    assert "these are: 0, 4, 12; or best, newest, first" in str(refused.value.fix)


def test_a_best_version_that_was_lost_is_refused():
    with pytest.raises(ConfigurationError, match="version 5 is not there"):
        find_version("best", [0, 9], 5, run_id="a")


def test_of_many_versions_the_first_and_the_last_are_listed():
    with pytest.raises(ConfigurationError) as refused:
        find_version("1000", list(range(100)), None, run_id="a")
    assert "38, 39, ... (20 more) ..., 60, 61" in str(refused.value.fix)


def test_a_run_without_versions_says_so():
    with pytest.raises(ConfigurationError, match="run a has no policy yet"):
        find_version("best", [], None, run_id="a")


KINDS: dict[str, dict[str, Any]] = {
    "floats": {},
    "no_statistics": {"normalize": False},
    "continuous": {"action": BoxSpace(shape=[2], low=-1, high=1)},
    "buttons": {"action": MultiBinarySpace(n=3)},
    "memory": {"recurrent": "lstm"},
    "pictures": {"observation": BoxSpace(shape=[42, 42, 3], dtype="uint8"), "cnn": "impala"},
    "shared": {"shared_trunk": True},
}


def randomised(kind: str, seed: int) -> Policy:
    policy = create_policy(**KINDS[kind])
    randomise(policy, seed)
    return policy


def saved(folder: Path, version: int, *policies: Policy, ids: tuple[str, ...] = ("main",)) -> Path:
    states = [policy.state_dict() for policy in policies]
    return save_version(folder, version, dict(zip(ids, states, strict=True)))


@pytest.mark.parametrize("kind", KINDS)
def test_the_bytes_are_those_that_the_learner_makes(tmp_path: Path, kind: str):
    early, late = randomised(kind, 1), randomised(kind, 2)
    patcher = OnnxPatcher(early)
    template, wanted = patcher.patched(late.state_dict()), patcher.patched(early.state_dict())
    assert template != wanted
    assert version_model(saved(tmp_path, 3, early), "main", template) == wanted


def test_an_exported_model_serves_as_well_and_its_metadata_is_left_out(tmp_path: Path):
    early, late = randomised("floats", 1), randomised("floats", 2)
    patcher, game = OnnxPatcher(early), describe(action=DiscreteSpace(n=3))
    template, wanted = (
        shipped_model(patcher.patched(policy.state_dict()), policy_metadata(policy, game, 7, {}))
        for policy in (late, early)
    )
    made = onnx.load_model_from_string(version_model(saved(tmp_path, 3, early), "main", template))
    expected = onnx.load_model_from_string(wanted)
    assert expected.metadata_props and not made.metadata_props
    del expected.metadata_props[:]
    assert made == expected
    assert made.graph.output[0].name == "action"


def test_each_of_several_policies_has_its_own_weights(tmp_path: Path):
    left, right, late = (randomised("floats", seed) for seed in (1, 2, 3))
    patcher = OnnxPatcher(late)
    template = patcher.patched(late.state_dict())
    folder = saved(tmp_path, 3, left, right, ids=("left", "right"))
    assert version_model(folder, "left", template) == patcher.patched(left.state_dict())
    assert version_model(folder, "right", template) == patcher.patched(right.state_dict())
    with pytest.raises(CheckpointError, match="no policy 'main'"):
        version_model(folder, "main", template)


def test_another_network_is_refused(tmp_path: Path):
    folder = saved(tmp_path, 3, randomised("shared", 1))
    for other, says in (
        (create_policy(hidden_sizes=[8, 8], shared_trunk=True), "is of another size"),
        (create_policy(), "lacks weights"),
    ):
        template = OnnxPatcher(other).patched(other.state_dict())
        with pytest.raises(CheckpointError, match=says):
            version_model(folder, "main", template)


@pytest.mark.parametrize("damage", ["gone", "cut", "changed", "no document"])
def test_a_damaged_checkpoint_is_refused(tmp_path: Path, damage: str):
    policy = randomised("floats", 1)
    folder = saved(tmp_path, 3, policy)
    tensors = folder / POLICY_FILE
    data = tensors.read_bytes()
    if damage == "gone":
        shutil.rmtree(folder)
    elif damage == "cut":
        tensors.write_bytes(data[:-1])
    elif damage == "changed":
        tensors.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    else:
        (folder / "checkpoint.json").unlink()
    with pytest.raises(CheckpointError):
        version_model(folder, "main", OnnxPatcher(policy).patched(policy.state_dict()))


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    policy = randomised("floats", 1)
    template = OnnxPatcher(policy).patched(policy.state_dict())
    return saved(tmp_path_factory.mktemp("kept"), 3, policy), template


@settings(deadline=None)
@given(data=st.data())
def test_a_damaged_template_gives_a_model_of_its_size_or_is_refused(
    kept: tuple[Path, bytes], data: st.DataObject
):
    folder, template = kept
    spoilt = bytearray(template[: data.draw(st.integers(0, len(template)))])
    for place, byte in data.draw(
        st.dictionaries(st.integers(0, 4000), st.integers(0, 255), max_size=8)
    ).items():
        if place < len(spoilt):
            spoilt[place] = byte
    try:
        made = version_model(folder, "main", bytes(spoilt))
    except CheckpointError:
        return
    assert len(made) <= len(spoilt)


@settings(deadline=None)
@given(noise=st.binary(max_size=200))
def test_what_is_no_model_is_refused(kept: tuple[Path, bytes], noise: bytes):
    folder, _ = kept
    with pytest.raises(CheckpointError):
        version_model(folder, "main", noise)
