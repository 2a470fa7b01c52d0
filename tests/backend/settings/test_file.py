import time
from pathlib import Path

import pytest

from attract.errors import ConfigurationError
from attract.settings.file import parse_settings, read_settings_file

BOMB = "\n".join([f"a{n}: &a{n} [{', '.join([f'*a{n - 1}' if n else '1'] * 9)}]" for n in range(7)])


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\xff\xfe: 1", "is no text in UTF-8: byte 0"),
        (b"42: 1", "42 is no setting's name"),
        (b"ppo: {1.5: 2}", "1.5 is no setting's name"),
        (b"? [1, 2]\n: 3", "is no YAML"),
        (b"[" * 3000 + b"]" * 3000, "nested more than 64 deep"),
        (b"{a: " * 2000 + b"1" + b"}" * 2000, "nested more than 64 deep"),
        (b"- " * 2000 + b"1", "nested more than 64 deep"),
        (b"\n".join(b" " * n + b"a:" for n in range(900)), "nested more than 64 deep"),
        (b"a: &a {b: *a}", "nested more than 64 deep"),
        (b"a: 2001-99-99", "is no YAML"),
        (b"a: !!python/object/apply:os.system [ls]", "is no YAML"),
        (b"a: \x00", "is no YAML"),
        (b"[1, 2]", "must be a mapping of settings"),
        (b"text", "must be a mapping of settings"),
        (b" " * ((1 << 20) + 1), "at most 1048576 are read"),
    ],
)
def test_a_hostile_file_is_refused_in_a_sentence_and_soon(data: bytes, said: str):
    began = time.process_time()
    with pytest.raises(ConfigurationError, match=said.replace("(", r"\(")) as refused:
        parse_settings(data, "odd.yaml")
    assert refused.value.setting == "odd.yaml"
    # 3,000 brackets took 20 s; CPU time, so that a busy machine changes little.
    assert time.process_time() - began < 5


def test_what_is_sound_is_read(tmp_path: Path):
    path = tmp_path / "a.yaml"
    path.write_text("ppo: {gamma: 0.9}\nparameters: {size: {uniform: [1, 2]}}\n")
    assert read_settings_file(path) == {"ppo": {"gamma": 0.9}, "parameters": {"size": {"uniform": [1, 2]}}}
    assert parse_settings(b"", "empty") == {}
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_settings_file(tmp_path)
    bomb = parse_settings(BOMB.encode(), "bomb")
    assert len(bomb) == 7
