import time
from pathlib import Path

import pytest

from attract.errors import ConfigurationError
from attract.settings.file import parse_settings, read_settings_file, settings_text
from attract.settings.run import RunSettings

NESTED = "\n".join([f"a{n}: &a{n} [{', '.join([f'*a{n - 1}' if n else '1'] * 9)}]" for n in range(10)])
MERGED = "a0: &a0 {x: 1}\n" + "\n".join(
    f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 9)
)
CHAINED = "a0: &a0 [1]\n" + "\n".join(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 1500))
TOO_MANY = "has more than 20,000 values, each alias counted as its expansion"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\xff\xfe: 1", "is not UTF-8 text: byte 0"),
        (b"42: 1", "42 is not the name of a setting"),
        (b"ppo: {1.5: 2}", "1.5 is not the name of a setting"),
        (b"? [1, 2]\n: 3", "(1, 2) is not the name of a setting"),
        (b"a: 1\nb: 2\na: 3", 'line 3: is not valid YAML: found duplicate key "a"'),
        (b"[" * 3000 + b"]" * 3000, "line 1: is nested more than 64 deep"),
        (b"{a: " * 2000 + b"1" + b"}" * 2000, "line 1: is nested more than 64 deep"),
        (b"- " * 500_000, "line 1: is nested more than 64 deep"),
        (b"\n".join(b" " * n + b"a:" for n in range(900)), "line 65: is nested more than 64 deep"),
        (CHAINED.encode(), "line 64: is nested more than 64 deep"),
        (b"a: &a {b: *a}", "line 1: an alias contains itself"),
        (b"a: &a {<<: *a}", "line 1: an alias contains itself"),
        (NESTED.encode(), f"line 5: {TOO_MANY}"),
        (MERGED.encode(), f"line 5: {TOO_MANY}"),
        (b"a: [" + b"1," * 30_000 + b"]", f"line 1: {TOO_MANY}"),
        (b"a: 1\nb: " + b"9" * 900_000, "line 2: is not valid YAML: a number has 900,000 characters"),
        (b"a: 0x" + b"f" * 900_000, "line 1: is not valid YAML: a number has 900,002 characters"),
        (b"a: ." + b"1" * 900_000, "line 1: is not valid YAML: a number has 900,001 characters"),
        (b"a: !!int 1:59", "is not valid YAML: invalid literal for int()"),
        (b"a: !!float 1:59.5", "is not valid YAML: could not convert string to float"),
        (b"a: 2001-99-99", "is not valid YAML"),
        (b"a: !!python/object/apply:os.system [ls]", "line 1: is not valid YAML"),
        (b"a: \x00", "is not valid YAML"),
        (b"[1, 2]", "must be a mapping of settings"),
        (b"text", "must be a mapping of settings"),
        (b" " * ((1 << 20) + 1), "at most 1,048,576 are read"),
    ],
)
def test_a_hostile_file_is_refused_in_a_sentence_and_soon(data: bytes, said: str):
    began = time.process_time()
    with pytest.raises(ConfigurationError) as refused:
        parse_settings(data, "odd.yaml")
    assert refused.value.setting == "odd.yaml"
    assert said in refused.value.problem
    assert "\n" not in refused.value.problem
    # 426 bytes of aliases took for ever; CPU time, so that a busy machine changes little.
    assert time.process_time() - began < 2


def test_what_is_sound_is_read(tmp_path: Path):
    path = tmp_path / "a.yaml"
    path.write_text("ppo: {gamma: 0.9}\nparameters: {size: {uniform: [1, 2]}}\n")
    assert read_settings_file(path) == {"ppo": {"gamma": 0.9}, "parameters": {"size": {"uniform": [1, 2]}}}
    assert parse_settings(b"", "empty") == {}
    shared = b"a: &a {p: 1}\nb: {<<: *a, q: 2}\nc: [*a, *a]"
    assert parse_settings(shared, "f") == {
        "a": {"p": 1},
        "b": {"p": 1, "q": 2},
        "c": [{"p": 1}, {"p": 1}],
    }
    with pytest.raises(ConfigurationError, match="is a folder, not a file"):
        read_settings_file(tmp_path)


def test_numbers_are_those_of_yaml_1_2():
    text = b"[010, 0o17, 0x1F, +3, 1e5, 3E-4, .5, -1., .inf, 12:30, 1_000, 1:59:59]"
    assert parse_settings(b"a: " + text, "f")["a"] == [
        *(10, 15, 31, 3, 100_000.0, 0.0003, 0.5, -1.0, float("inf")),
        *("12:30", 1000, "1:59:59"),
    ]
    assert parse_settings(b"a: [yes, off, true]", "f")["a"] == ["yes", "off", True]
    sexagesimal = b"a: 1" + b":59" * 300_000
    with pytest.raises(ConfigurationError, match="a number has 900,001 characters"):
        parse_settings(b"%YAML 1.1\n---\n" + sexagesimal, "f")
    began = time.process_time()
    assert parse_settings(sexagesimal, "f")["a"] == sexagesimal[3:].decode()
    assert time.process_time() - began < 2


def test_what_is_written_is_read_as_the_same():
    settings = {
        "texts": ["1e5", "08", "0o17", "1_0", "12:30", ".5", "+3", "yes", "", "2026-01-01", ".inf"],
        "numbers": [1e22, 1e-9, 1.5, float("inf"), 12, -3, 2**64, True, None],
    }
    assert parse_settings(settings_text(settings).encode(), "f") == settings
    own = RunSettings.from_mapping({"total_steps": 5}).model_dump(mode="json")
    assert parse_settings(settings_text(own).encode(), "f") == own
