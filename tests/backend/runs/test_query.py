"""The search language: what each term finds, and where a mistake is."""

import operator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attract.errors import QueryError
from attract.runs.catalogue import row_of
from attract.runs.indexed_run import DEFAULTS, setting_value
from attract.runs.query import (
    FLAGS,
    MAX_QUERY,
    NUMBERS,
    parse_number,
    parse_query,
    setting_path,
    setting_text,
    sort_key,
)
from attract.schema.run_list import RunLabels
from known_runs import indexed

RUNS = [
    indexed("snake-1", episode_return_mean=24.0,
            settings={"ppo.learning_rate": 0.0005, "policy.hidden_sizes": "64,64"},
            metrics={"train/loss": 0.25, "reward/fuel": -3.0},
            labels=RunLabels(name="Fast one", tags=["good", "Paper"], note="after the fix")),
    indexed("snake-2", episode_return_mean=12.0, seed=2, state="stopped", labels=RunLabels(starred=True)),
    indexed("pole-1", game="cartpole", title="CartPole", episode_return_mean=None, updates=0, agent_steps=0,
            state="failed", preset="classic-control",
            settings={"policy.shared_trunk": True, "ppo.target_kl": 0.02}),
    indexed("pole-2", game="cartpole", title="CartPole", agent_steps=600_000, goal=475.0, return_eval=480.0,
            state="running", created="2026-11-27T09:00:00+00:00", labels=RunLabels(archived=True)),
]  # fmt: skip


def found(query: str) -> set[str]:
    asked = parse_query(query)
    return {run.summary.run_id for run in RUNS if asked.matches(run)}


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("", {"snake-1", "snake-2", "pole-1", "pole-2"}),
        ("game:snake return>20", {"snake-1"}),
        ("game:SNAKE return<=24 return>=24", {"snake-1"}),
        ("return > 11", {"snake-1", "snake-2"}),
        ("lr<0.001", {"snake-1"}),
        ("train/loss<0.3 reward/fuel:-3", {"snake-1"}),
        ("train/loss:none", {"snake-2", "pole-1", "pole-2"}),
        ("ppo.learning-rate<1e-3", {"snake-1"}),
        ("hidden_sizes:64,64", {"snake-1", "snake-2", "pole-1", "pole-2"}
         if DEFAULTS["policy.hidden_sizes"] == "64,64" else {"snake-1"}),
        ("tag:good", {"snake-1"}),
        ("tag:paper", {"snake-1"}),
        ("tag:other,good", {"snake-1"}),
        ("state:failed,stopped", {"pole-1", "snake-2"}),
        ("id=pole-1,snake-2", {"pole-1", "snake-2"}),
        ("id!=pole-1,snake-2", {"pole-2", "snake-1"}),
        ("tag:goo", set()),
        ("tag!=good", {"snake-2", "pole-1", "pole-2"}),
        ("-tag:good is:starred", {"snake-2"}),
        ('"fast one"', {"snake-1"}),
        ("name:fast note:fix", {"snake-1"}),
        ("paper", {"snake-1"}),
        ("cartpole", {"pole-1", "pole-2"}),
        ("game=cartpole", {"pole-1", "pole-2"}),
        ("game=cart", set()),
        ("game!=cartpole", {"snake-1", "snake-2"}),
        ("steps>500k", {"pole-2"}),
        ("steps<0.6M", {"snake-1", "snake-2", "pole-1"}),
        ("is:live", {"pole-2"}),
        ("is:empty", {"pole-1"}),
        ("is:archived", {"pole-2"}),
        ("state:failed", {"pole-1"}),
        ("state!=failed seed:1", {"snake-1", "pole-2"}),
        ("return:none", {"pole-1"}),
        ("eval!=none", {"pole-2"}),
        ("created>=2026-11-27", {"pole-2"}),
        ("created<2026-11-27", {"snake-1", "snake-2", "pole-1"}),
        ("preset:classic", {"pole-1"}),
        ("shared_trunk:true", {"pole-1"}),
        ("target_kl>0.01 target_kl<0.03", {"pole-1"}),
        ("progress:0.5", {"snake-1", "snake-2"}),
        ("-snake", {"pole-1", "pole-2"}),
        ("id:snake-2", {"snake-2"}),
    ],
)  # fmt: skip
def test_a_search_finds(query: str, ids: set[str]):
    assert found(query) == ids


@pytest.mark.parametrize(
    ("query", "at", "text"),
    [
        ("game:snake retrun>20", 11, "did you mean return"),
        ("return>fast", 7, "no number"),
        ("return>", 7, "no value"),
        ("game: snake", 5, "no value"),
        ('note:"open', 5, "not closed"),
        ('"a"b', 3, "space is missing"),
        ('x"a"', 1, "space is missing"),
        ("state>3", 0, "is no number"),
        ("game<3", 0, "is no number"),
        ("is:green", 3, "means nothing"),
        ("is=live", 0, "colon"),
        ("lr>fast", 3, "no number"),
        ("http://x", 0, "quotes"),
        ("coef>0.1", 0, "several"),
        ("a" * 1001, MAX_QUERY, "at most"),
    ],
)
def test_a_mistake_is_named_with_its_place(query: str, at: int, text: str):
    with pytest.raises(QueryError) as caught:
        parse_query(query)
    assert caught.value.at == at
    assert text in str(caught.value)
    assert f"character {at + 1}" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("lr", "ppo.learning_rate"),
        ("LR", "ppo.learning_rate"),
        ("gamma", "ppo.gamma"),
        ("rnd.gamma", "rnd.gamma"),
        ("workers", "collection.num_workers"),
        ("entropy", None),
        ("minibatch_steps", "ppo.minibatch_steps"),
        ("recurrent_size", "policy.recurrent_size"),
        ("nothing", None),
    ],
)
def test_a_short_name_is_one_setting(name: str, path: str | None):
    if name == "entropy":
        with pytest.raises(KeyError):
            setting_path(name)
    else:
        assert setting_path(name) == path


def test_a_short_name_is_the_setting_of_each_runs_own_algorithm():
    runs = [
        indexed("by-ppo", settings={"ppo.gamma": 0.9, "dqn.gamma": 0.5}),
        indexed("by-dqn", settings={"algorithm": "dqn", "dqn.gamma": 0.8}),
    ]

    def that(query: str) -> list[str]:
        return [run.summary.run_id for run in runs if parse_query(query).matches(run)]

    assert that("gamma<0.85") == ["by-dqn"]
    assert that("gamma=0.9") == ["by-ppo"]
    assert that("ppo.gamma=0.99") == ["by-dqn"]
    assert [sort_key("gamma")(run) for run in runs] == [0.9, 0.8]
    # What only one algorithm has is its setting, whichever trained.
    assert that("replay_ratio=0.5") == ["by-ppo", "by-dqn"]


@given(st.sampled_from(sorted({*DEFAULTS} - {"seed", "preset"})))
def test_every_setting_is_found_by_its_path(path: str):
    assert setting_path(path) == path
    run = indexed("a", settings={path: "x"})
    assert parse_query(f"{path}:x").matches(run)
    assert not parse_query(f"{path}:y").matches(run)
    assert sort_key(path)(run) == "x"


@given(st.text(max_size=60) | st.text(alphabet='ab:"<>=!-. ', max_size=30))
def test_hostile_any_text_is_a_search_or_a_mistake_within_it(text: str):
    try:
        asked = parse_query(text)
    except QueryError as error:
        assert error.at is not None and 0 <= error.at <= len(text)
    else:
        for run in RUNS:
            assert asked.matches(run) in (True, False)


OPERATORS = {
    ":": operator.eq, "=": operator.eq, "!=": operator.ne, "<": operator.lt,
    "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
# Four decimals are written and read without loss.
amounts = st.integers(-20_000, 20_000).map(lambda number: number / 1e4)


@given(st.sampled_from(sorted(OPERATORS)), amounts, amounts | st.none())
def test_numbers_of_fields_and_settings_compare_as_python_does(sign: str, wanted: float, value: float | None):
    compare: Any = OPERATORS[sign]
    expected = sign == "!=" if value is None else compare(value, wanted)
    run = indexed("a", episode_return_mean=value, settings={"ppo.target_kl": value})
    for name in ("return", "target_kl"):
        asked = parse_query(f"{name}{sign}{wanted:.4f}")
        assert asked.matches(run) == expected, (name, sign, wanted, value)
        assert parse_query(f"-{name}{sign}{wanted:.4f}").matches(run) != expected


words = st.text(alphabet="abcxyz01_", min_size=1, max_size=4)


@given(st.lists(words, min_size=1, max_size=4), st.lists(words, max_size=3), words)
def test_terms_narrow_each_other_and_their_order_is_the_same(tags: list[str], asked: list[str], note: str):
    run = indexed("zz", labels=RunLabels(tags=list(dict.fromkeys(tags)), note=note))
    query = " ".join(f"tag:{tag}" for tag in asked)
    expected = set(asked) <= set(tags)
    assert parse_query(query).matches(run) == expected
    assert parse_query(" ".join(reversed(query.split()))).matches(run) == expected
    assert parse_query(f'note:"{note}" {query}').matches(run) == expected


def test_what_is_hidden_is_shown_by_those_who_ask_for_it():
    hidden = {
        query: {run.summary.run_id for run in RUNS if parse_query(query).hides(run)}
        for query in ("", "is:archived", "is:empty", "is:all", "-is:archived")
    }
    assert hidden == {
        "": {"pole-2"},
        "is:archived": set(),
        "is:empty": {"pole-2"},
        "is:all": set(),
        "-is:archived": {"pole-2"},
    }, "pole-1 has no update, but it failed"


def test_flags_and_numbers_have_names_that_no_setting_needs():
    assert not {path for path in DEFAULTS if path in FLAGS}
    assert {path for path in DEFAULTS if path in NUMBERS} == {"seed"}


@pytest.mark.parametrize(
    ("text", "number"),
    [("20", 20.0), ("-1.5", -1.5), ("1e-4", 1e-4), ("500k", 5e5), ("2M", 2e6), ("x", None), ("nan", None)]
)  # fmt: skip
def test_numbers(text: str, number: float | None):
    assert parse_number(text) == number


def test_a_setting_that_a_run_does_not_have_has_its_default():
    run = indexed("a")
    assert setting_value(run, "ppo.gamma") == DEFAULTS["ppo.gamma"]
    assert (setting_text(None), setting_text(False), setting_text("64,64"), setting_text(3)) == (
        "none", "false", "64,64", "3",
    )  # fmt: skip


def test_a_sort_that_is_no_field_is_named():
    for name, text in (
        ("lenght", "sort: there is no field or setting 'lenght'"),
        ("", "sort: there is no field or setting ''"),
        ("xyzzy", "sort: there is no field or setting 'xyzzy'"),
    ):
        with pytest.raises(QueryError) as caught:
            sort_key(name)
        assert str(caught.value).splitlines()[0] == text
        # The search has no mistake, and quotes would not help.
        assert caught.value.at is None and '"quotes"' not in str(caught.value)


def test_n11_the_speed_of_a_run_that_is_over_is_its_mean() -> None:
    """What it plays now is 0: 1,000 steps in 8 s are 125 a second."""
    over = indexed("over", state="finished", steps_per_second=0.0, agent_steps=1000, elapsed_seconds=8.0)
    live = indexed("live", state="running", steps_per_second=50.0)
    unborn = indexed("unborn", state="failed", steps_per_second=0.0, elapsed_seconds=0.0)
    found = [run.summary.run_id for run in (over, live, unborn) if parse_query("speed>=50").matches(run)]
    assert found == ["over", "live"]
    assert [row_of(run, {}, []).steps_per_second for run in (over, live, unborn)] == [125.0, 50.0, 0.0]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("game:snake retrun>3 x", "game:snake return>3 x"),
        ("-statee:failed", "-state:failed"),
        ("zzz:3", None),
    ],
)
def test_n19_a_misspelt_name_brings_the_query_that_was_meant(text: str, meant: str | None) -> None:
    with pytest.raises(QueryError) as caught:
        parse_query(text)
    assert caught.value.suggestion == meant
