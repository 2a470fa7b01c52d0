"""Nothing outside an algorithm's folder, its settings and the registries knows it by name."""

import ast
import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest

import attract
from attract.diagnosis.diagnosis import Diagnosis
from attract.diagnosis.sign import RunFacts, advice_for
from attract.errors import ConfigurationError
from attract.run.plan import collection_config, create_store
from attract.run.plan_text import plan_lines
from attract.runs.directory import RunDirectory
from attract.schema.game import GameReference
from attract.schema.spaces import BoxSpace
from attract.settings.algorithm import AlgorithmSettings, GameContext, RunContext
from attract.settings.base import Settings
from attract.settings.run import ALGORITHM_SETTINGS, RunSettings
from attract.tuning.space import Choice, default_space, promising_values
from socket_fleet import DESCRIPTION

PACKAGE = Path(attract.__file__).parent
NAMED = {
    "ppo": re.compile(r"(?<![A-Za-z])ppo|Ppo|(?<!O)PPO"),
    "dqn": re.compile(r"(?<![A-Za-z])dqn|Dqn|DQN"),
    "sac": re.compile(r"(?<![A-Za-z])sac(?![A-Za-z])|Sac[A-Z]|SAC"),
}
MAY_KNOW = {"settings/run.py", "learner/registry.py"}
GAME = GameReference(name="counting", sha256="a" * 64, url="games/x.js")


@functools.cache
def named_in(path: Path) -> tuple[str, ...]:
    """Names and texts of a module, without its docstrings."""
    return tuple(_named_in(path))


def _named_in(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text())
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                yield name
            case ast.arg(arg=name) | ast.ImportFrom(module=str(name)):
                yield name
            case ast.Constant(value=str(text)) if id(node) not in docstrings:
                yield text


@pytest.mark.parametrize("algorithm", NAMED)
def test_no_other_module_names_an_algorithm(algorithm: str) -> None:
    known = {
        module: names
        for path in sorted(PACKAGE.rglob("*.py"))
        if not (module := path.relative_to(PACKAGE).as_posix()).startswith(f"learner/{algorithm}/")
        and (names := [name for name in named_in(path) if NAMED[algorithm].search(name)])
    }
    # A refusal names the algorithm that works.
    refusals = {f"settings/{other}.py" for other in NAMED if other != algorithm}
    assert known.keys() - refusals == MAY_KNOW | {f"settings/{algorithm}.py"}, known


class Greedy(Settings):
    """Settings of an algorithm that is not PPO."""

    section: ClassVar[str] = "greedy"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"reflex": {"gamma": 0.5}}
    advice: ClassVar[Mapping[str, tuple[str, str]]] = {
        "short-sighted": ("See `{setting}`", "--greedy.gamma 1")
    }
    derived: ClassVar[tuple[str, ...]] = ()
    refuses: ClassVar[Mapping[str, str]] = {"box": "numbers have no greedy one"}
    kept: ClassVar[tuple[str, ...]] = ()
    chosen_by: ClassVar[tuple[str, ...]] = ()
    studied_copies: ClassVar[tuple[int, ...]] = (3,)
    shares_trunk: ClassVar[bool] = False
    has_fused_steps: ClassVar[bool] = False

    horizon: int = 5
    batch_segments: int | None = None
    rollout_segments: int = 2
    gamma: float = 0.9
    learning_rate: float = 0.1
    n_epochs: int = 3
    normalize_observations: bool = False
    schedule_steps: int | None = 77
    scheduled_rates: list[str] = ["epsilon"]
    search_space: dict[str, Any] = {"gamma": [0.9, 0.99]}

    @staticmethod
    def promising(usual: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [{"gamma": 0.99}] if "gamma" in usual else []

    @staticmethod
    def drop_excluded(merged: dict[str, Any], given: Mapping[str, Any]) -> None:
        raise AssertionError("nothing is layered here")

    def resolve(self, run: RunContext) -> dict[str, Any]:
        return {"schedule_steps": run.schedule_steps}

    def resolve_for_game(self, run: RunContext, game: GameContext) -> tuple[dict[str, Any], dict[str, str]]:
        return {}, {}

    def check_policy(self, *, is_recurrent: bool) -> None:
        assert not is_recurrent

    def check_batch(self, run: RunContext, segments: int, policy: str) -> None:
        # 2 workers x 3 games x 2 segments
        assert (segments, policy) == (12, "")

    def update_text(self, run: RunContext, segments: int) -> str:
        return f"drawn from {segments}"

    def lag_text(self, run: RunContext) -> str | None:
        return "nothing"


class GreedyRun(RunSettings):
    """A run by that algorithm."""

    algorithm: Literal["ppo", "dqn", "greedy"] = "greedy"  # pyright: ignore[reportIncompatibleVariableOverride]
    greedy: Greedy = Greedy()


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> GreedyRun:
    kind: type[AlgorithmSettings] = Greedy
    monkeypatch.setitem(dict_of(ALGORITHM_SETTINGS), "greedy", kind)
    return GreedyRun.from_mapping({"collection": {"num_workers": 2, "instances_per_worker": 3}})


def dict_of(table: Mapping[str, type[AlgorithmSettings]]) -> dict[str, type[AlgorithmSettings]]:
    assert isinstance(table, dict)
    return table


def test_another_algorithm_says_how_a_run_collects_and_what_its_plan_is(
    settings: GreedyRun, tmp_path: Path
) -> None:
    config = collection_config(settings, "r", GAME).fitted(DESCRIPTION)
    assert (config.horizon, config.rollout_segments, config.settings.warmup_steps) == (5, 2, 0)
    directory = RunDirectory.create(tmp_path, "r")
    store = create_store(settings, config, directory)
    assert store.layout.horizon == 5
    store.close(unlink=True)
    number = DESCRIPTION.model_copy(update={"action": BoxSpace(shape=[1], low=-1, high=1)})
    with pytest.raises(ConfigurationError, match="algorithm: numbers have no greedy one"):
        create_store(settings, collection_config(settings, "r", GAME).fitted(number), directory)
    directory.close()
    assert settings.hyperparameters.model_dump()["schedule_steps"] == 77
    printed = plan_lines(settings, DESCRIPTION, GAME)
    assert "minibatches: drawn from 12" in printed
    assert "schedules: epsilon change over 77 agent steps, then stay constant" in printed
    assert "lag: up to 1 versions, corrected by nothing" in printed
    assert "learner: autograd, since greedy has no other" in printed


def test_a_study_searches_the_settings_of_another_algorithm(settings: GreedyRun) -> None:
    space = default_space(settings, None)
    assert space["greedy.gamma"] == Choice((0.9, 0.99))
    assert not [name for name in space if name.startswith("ppo.")]
    assert promising_values(space, {"greedy.gamma": 0.9}) == [{"greedy.gamma": 0.99}]


def test_a_finding_that_an_algorithm_cannot_mend_is_not_said(settings: GreedyRun) -> None:
    facts = RunFacts(settings, DESCRIPTION, num_cores=2)
    assert {"short-sighted", "no-improvement"} < advice_for("greedy").keys()
    assert "kl-high" not in advice_for("greedy")
    row = {"train/approx_kl": 9.0, "train/clip_fraction": 0.9}

    def said(facts: RunFacts) -> list[str]:
        diagnosis = Diagnosis(facts)
        found = [diagnosis.observe(update, 100 * update, row) for update in range(1, 21)]
        return [finding.finding_id for findings in found for finding in findings]

    assert said(RunFacts(RunSettings(), DESCRIPTION, num_cores=2)) == ["kl-high"]
    assert said(facts) == []
