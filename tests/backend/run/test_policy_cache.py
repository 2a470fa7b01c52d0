import pytest

from attract.run.policy_cache import KEPT, PolicyCache
from attract.schema.frames import decode_to_browser
from attract.schema.messages import Policy


def test_a_version_is_encoded_once_and_its_bytes_are_the_message():
    cache = PolicyCache("r")
    cache.keep(3, b"onnx 3")
    frame = cache.frame("main", 3)
    assert cache.frame("main", 3) is frame
    assert decode_to_browser(frame) == Policy(run_id="r", policy_version=3, onnx=b"onnx 3")
    assert cache.onnx(3) == b"onnx 3"


def test_only_the_newest_are_kept_per_policy():
    cache = PolicyCache("r")
    cache.keep(0, b"other", policy_id="other")
    for version in range(KEPT + 3):
        cache.keep(version, b"onnx")
    assert cache.onnx(2) is None
    assert cache.onnx(3) == b"onnx"
    assert cache.onnx(0, policy_id="other") == b"other"
    with pytest.raises(KeyError):
        cache.frame("main", 2)
