"""A run's folder read for a notebook: metrics, episodes and settings as data frames of pandas."""

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from attract.errors import ConfigurationError
from attract.runs.directory import RunDirectory, find_run
from attract.runs.episode_choice import EpisodeLimits
from attract.runs.episodes import EpisodeStore
from attract.runs.metrics import MetricsStore
from attract.schema.recorded_episode import EpisodeEntry, RecordedEpisode

if TYPE_CHECKING:
    import pandas as pd

ALWAYS: Final = ("agent_steps", "seconds", "policy_version")
EPISODE_METRICS: Final = ("rollout/", "game/", "reward/")
EVALUATION_METRICS: Final = ("eval/", "eval_sampled/")


@dataclass(frozen=True, eq=False)
class LoadedRun:
    """What a run's folder says, as it stood when it was loaded; the run may still be going on."""

    run_id: str
    path: Path
    game: str
    metrics: "pd.DataFrame"
    """A row per update, by its number: `agent_steps`, `seconds`, `policy_version`, then every metric by name.

    NaN where an update has none. Updates long past are several in one: their means, under the last of them.
    """
    settings: "pd.DataFrame"
    """A row per setting, by its path (`ppo.learning_rate`), with its `value`."""

    @property
    def episodes(self) -> "pd.DataFrame":
        """The metrics of ended episodes; updates in which none ended are left out.

        They are means of the last hundred, and the game's own metrics; `recorded_episodes` has single ones.
        """
        return self._with_any(EPISODE_METRICS)

    @property
    def evaluations(self) -> "pd.DataFrame":
        """The metrics of evaluations, a row for each update that was evaluated."""
        return self._with_any(EVALUATION_METRICS)

    def recorded_episodes(self) -> list[EpisodeEntry]:
        """The episodes that the run keeps, newest first; one with a `problem` cannot be played.

        Raises: FileError: their folder is a link out of the run.
        """
        return self._store.entries()

    def episode(self, episode_id: str) -> RecordedEpisode:
        """One of them, with its actions; `attract.schema.episode_actions.unpack_actions` gives those.

        Raises:
            UnknownRunError: the run has none of that id.
            FileError: its file is damaged.
        """
        return self._store.get(episode_id)

    @property
    def _store(self) -> EpisodeStore:
        return EpisodeStore(self.path, EpisodeLimits(0, 0))

    def _with_any(self, families: tuple[str, ...]) -> "pd.DataFrame":
        own = [name for name in self.metrics.columns if str(name).startswith(families)]
        has_any = self.metrics[own].notna().any(axis=1)
        return self.metrics.loc[has_any, [*ALWAYS, *own]]


def load_run(run_id: str = "latest", runs_dir: str | Path = "runs") -> LoadedRun:
    """Read a run's folder; it is not locked, and nothing in it is changed.

    Args:
        run_id: its name; `latest`: the newest that has a policy.
        runs_dir: the folder of the runs, as `--runs-dir`.

    Raises:
        ConfigurationError: no such run, or pandas is not installed.
        DamagedRunError: a file of it is damaged.
    """
    try:
        pandas: Any = importlib.import_module("pandas")
    except ModuleNotFoundError:
        raise ConfigurationError(
            "load_run returns pandas data frames, but pandas is not installed", fix="pip install pandas"
        ) from None
    folder = Path(runs_dir)
    directory = RunDirectory.view(folder, find_run(folder, run_id))
    config = directory.read_config()
    with directory.naming_damage():
        rows = _rows(directory.metrics_path)
    settings = _leaves("", config["settings"])
    return LoadedRun(
        run_id=directory.run_id,
        path=directory.path,
        game=str(config["game"]),
        metrics=pandas.DataFrame(rows, columns=None if rows else ["update", *ALWAYS]).set_index("update"),
        settings=pandas.DataFrame({"value": settings.values()}, index=pandas.Index(settings, name="setting")),
    )


def _rows(path: Path) -> list[dict[str, float]]:
    if not path.is_file():
        return []
    store = MetricsStore(path)
    try:
        return store.table()
    finally:
        store.close()


def _leaves(prefix: str, values: dict[str, Any]) -> dict[str, Any]:
    """Settings by their whole path."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict) and value:
            found |= _leaves(f"{prefix}{name}.", value)
        else:
            found[f"{prefix}{name}"] = value
    return found
