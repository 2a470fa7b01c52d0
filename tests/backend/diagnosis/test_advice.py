"""Every piece of advice can be followed: its places are filled, its flag is one, its preset is there."""

import re
import shlex
from pathlib import Path

import pytest

from attract import cli, diagnosis
from attract.diagnosis.sign import Advice, advice_for
from attract.settings.run import ALGORITHM_SETTINGS

ADVICE = {
    f"{algorithm} {key}": advice
    for algorithm in ALGORITHM_SETTINGS
    for key, advice in advice_for(algorithm).items()
}
NUMBERS = {
    "seconds_per_step": 0.1,
    "longer_step": 0.8,
    "limit": 10.0,
    "longer_limit": 40.0,
    "fewer": 4,
    "lower_rate": 0.00025,
    "other_seed": 8,
    "term": "middle",
    "fewer_epochs": 1,
    "num_cores": 8,
    "algorithm": "sac",
    "fraction": 0.02,
    "mebibytes": 4096,
}


@pytest.mark.parametrize("key", ADVICE)
def test_it_reads_as_a_sentence_and_its_flag_is_one_of_the_command(key: str) -> None:
    filled = ADVICE[key].filled(NUMBERS)
    assert filled.text[0].isupper() and not filled.text.endswith(".") and "{" not in filled.text
    assert filled.text.count("`") % 2 == 0
    if filled.setting is not None:
        assert f"`{filled.setting}`" in filled.text
        words = ["train", "cartpole", *shlex.split(filled.setting)]
        cli.app.parse_args(words, exit_on_error=False, print_error=False)


def test_every_advice_is_given_by_some_sign() -> None:
    source = "".join(path.read_text() for path in Path(diagnosis.__path__[0]).glob("*_signs.py"))
    given = set(re.findall(r'"([a-z-]+(?:/[a-z{}_.]+)?)"', source))
    for key in {name.partition(" ")[2] for name in ADVICE}:
        finding_id, _, variant = key.partition("/")
        assert (
            key in given
            or (variant and any(finding.startswith(f"{finding_id}/{{") for finding in given))
            or (f'f"{finding_id}/{{' in source)
        ), f"nothing gives {key}"


def test_numbers_are_put_in_their_places() -> None:
    advice = Advice("Hold it longer ({longer_step:g} s): `{setting}`", "--ppo.gamma {gamma:g}")
    assert advice.filled({"longer_step": 0.8, "gamma": 0.99}) == Advice(
        "Hold it longer (0.8 s): `--ppo.gamma 0.99`", "--ppo.gamma 0.99"
    )
