import sys
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

import pytest
from pydantic import ValidationError

from attract.errors import ConfigurationError
from attract.settings.run import EXPECTED_STEPS, PolicySettings, PpoSettings, RunSettings, ServerSettings


def refusal(kind, data):
    with pytest.raises(ConfigurationError) as caught:
        kind.from_mapping(data)
    assert caught.value.exit_code == 2
    return str(caught.value)


def test_an_unknown_name_is_refused_with_the_nearest_one():
    text = refusal(PpoSettings, {"lerning_rate": 1e-3})
    assert "ppo.lerning_rate" in text and "did you mean 'learning_rate'?" in text


def test_an_unknown_name_like_no_other_gets_the_list():
    text = refusal(PolicySettings, {"zzzz": 1})
    assert "valid names: activation, cnn, hidden_sizes" in text


def test_names_are_checked_in_nested_sections_too():
    assert "did you mean 'hidden_sizes'?" in refusal(RunSettings, {"policy": {"hiden_sizes": [8]}})


def test_a_value_that_cannot_be_names_its_setting_and_what_was_given():
    text = refusal(RunSettings, {"ppo": {"gamma": 1.5, "n_epochs": 0}})
    assert "ppo.gamma" in text and "1.5" in text and "ppo.n_epochs" in text


def test_not_a_number_is_refused():
    assert "ppo.learning_rate" in refusal(PpoSettings, {"learning_rate": float("nan")})


def test_S5_P3_whole_segments_are_shuffled_where_they_must_stay_whole():
    plain = PpoSettings()
    assert plain.unit_for(is_recurrent=False) == "step"
    assert plain.unit_for(is_recurrent=True) == "segment"
    assert PpoSettings(prio_alpha=0.5).unit_for(is_recurrent=False) == "segment"
    assert PpoSettings(minibatch_unit="segment").unit_for(is_recurrent=False) == "segment"
    assert "'segment' works" in refusal(PpoSettings, {"prio_alpha": 0.5, "minibatch_unit": "step"})
    recurrent = {"policy": {"recurrent": "gru"}, "ppo": {"minibatch_unit": "step"}}
    assert "'segment' works" in refusal(RunSettings, recurrent)


def test_S3_a_burn_in_leaves_something_to_learn_from_and_needs_a_state():
    assert "at most 31" in refusal(PpoSettings, {"horizon": 32, "burn_in_steps": 32})
    assert "carries no state" in refusal(RunSettings, {"ppo": {"burn_in_steps": 4}})
    recurrent = RunSettings.from_mapping({"policy": {"recurrent": "lstm"}, "ppo": {"burn_in_steps": 4}})
    assert recurrent.ppo.burn_in_steps == 4


@pytest.mark.parametrize(
    "given",
    [
        {"policy": {"hidden_sizes": [1_000_000_000]}},
        {"policy": {"hidden_sizes": [8] * 33}},
        {"policy": {"recurrent": "lstm", "recurrent_size": 10**9}},
        {"learner_threads": 1_000_000},
        {"ppo": {"n_epochs": 10**12}},
        {"ppo": {"horizon": 10**9}},
        {"total_steps": 10**300},
    ],
)
def test_hostile_settings_that_no_machine_could_carry_out_are_refused(given: dict[str, object]):
    assert "at most" in refusal(RunSettings, given) or "from" in refusal(RunSettings, given)


NETWORK = [{}, {"host": "127.0.0.9"}, {"host": "::1"}, {"host": "localhost"}]
ALLOWED = [{"lan": True}, {"tls_cert": "a", "tls_key": "b"}, {"behind_proxy": "10.0.0.5, 10.1.0.0/16"}]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.9", "box.local"])
def test_hostile_14_the_network_is_let_in_by_lan_tls_or_a_proxy_and_not_by_an_address(host: str):
    text = refusal(ServerSettings, {"host": host})
    assert "--lan" in text and "--tls-cert" in text and "--behind-proxy" in text
    for allowed in ALLOWED:
        assert ServerSettings.from_mapping({"host": host, **allowed}).host == host


def test_hostile_14_loopback_needs_no_word():
    assert [ServerSettings.from_mapping(given).lan for given in NETWORK] == [False] * 4


@pytest.mark.parametrize("proxy", ["*", "0.0.0.0/0", "::/0", "proxy.local", "10.0.0.5/99"])
def test_hostile_12_a_proxy_is_an_address(proxy: str):
    assert "behind_proxy" in refusal(ServerSettings, {"behind_proxy": proxy})


def test_what_a_page_may_load_from_above_is_there_and_no_link(tmp_path: Path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "link").symlink_to("shared")
    assert ServerSettings.from_mapping({"include": f"{tmp_path}/shared"}).include == (f"{tmp_path}/shared",)
    for name in ("link", "gone"):
        assert "is not a file or a folder" in refusal(ServerSettings, {"include": f"{tmp_path}/{name}"})


def test_a_certificate_needs_its_key():
    assert "give both" in refusal(ServerSettings, {"tls_cert": "a"})


def test_a_tracker_is_known_and_installed(monkeypatch: pytest.MonkeyPatch):
    assert ServerSettings().trackers == ()
    assert "there are wandb, trackio" in refusal(ServerSettings, {"trackers": "mlflow,wandb"})
    # Nothing can be imported from an empty path.
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "meta_path", [PathFinder])
    for name in ("wandb", "trackio"):
        monkeypatch.delitem(sys.modules, name, raising=False)
        assert f"pip install 'attract-rl[{name}]'" in refusal(ServerSettings, {"trackers": name})
    monkeypatch.setitem(sys.modules, "trackio", ModuleType("trackio"))
    sys.modules["trackio"].__spec__ = ModuleSpec("trackio", None)
    assert ServerSettings.from_mapping({"trackers": " trackio, "}).trackers == ("trackio",)


def test_settings_do_not_change():
    with pytest.raises(ValidationError, match="frozen"):
        PpoSettings().gamma = 0.5


def test_settings_survive_being_written_down():
    settings = RunSettings.from_mapping(
        {"seed": 7, "ppo": {"num_minibatches": 3}, "policy": {"hidden_sizes": [8]}}
    )
    assert RunSettings.from_mapping(settings.model_dump(mode="json")) == settings


@pytest.mark.parametrize(
    "given", [["scout", "keeper", "keeper"], "scout, keeper,keeper", ["scout,keeper,keeper"]]
)
def test_seats_are_a_list_of_names_or_names_with_commas(given: object):
    settings = RunSettings.from_mapping({"collection": {"seats": given}})
    assert settings.collection.seats == ("scout", "keeper", "keeper")
    assert RunSettings.from_mapping(settings.model_dump(mode="json")) == settings


def test_P10_schedules_run_over_the_total_steps_unless_given():
    for total, given, expected in ((None, None, EXPECTED_STEPS), (1000, None, 1000), (1000, 500, 500)):
        chosen = RunSettings.from_mapping({"total_steps": total, "ppo": {"schedule_steps": given}})
        assert chosen.schedule_steps == expected


@pytest.mark.parametrize(
    ("schedule", "given", "expected"),
    [
        ("async", None, "vtrace"),
        ("overlap", None, "none"),
        ("sync", None, "none"),
        ("overlap", "vtrace", "vtrace"),
        ("async", "none", "none"),
    ],
)
def test_P9_lag_is_corrected_in_async_and_when_asked_for(schedule: str, given: str | None, expected: str):
    chosen = RunSettings.from_mapping(
        {"ppo": {"lag_correction": given}, "collection": {"schedule": schedule}}
    )
    assert chosen.hyperparameters.model_dump()["lag_correction"] == expected
    assert chosen.hyperparameters.model_dump()["horizon"] == chosen.ppo.horizon
