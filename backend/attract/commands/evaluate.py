"""`attract eval`: its flags; `evaluating.py` is the work."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from attract.commands import flags
from attract.processes.extras import check_installed


@flags.options
class EvaluateOptions:
    version: str | None = None
    """Version to evaluate: a number, `best`, `newest` or `first`; by default the newest."""
    episodes: Annotated[int | None, flags.AtLeastOne] = None
    """Number of episodes; by default the run's `evaluation.episodes`."""
    seed: int | None = None
    """Seed of the evaluation; by default the run's `evaluation.seed`."""
    deterministic: Annotated[bool | None, Parameter(negative="--no-deterministic")] = None
    """Take the most probable actions, or sample them; by default the run's `evaluation.deterministic`."""
    save: Path | None = None
    """Folder for every episode, as a file each that can be played again."""
    game: Path | None = None
    """Adapter of a game in a page, or its folder; by default where it was during training."""
    runs_dir: flags.RunsDir = None
    project_dir: flags.ProjectDir = None
    include: flags.Include = None
    json_output: flags.Json = False


def evaluate(run: flags.Run, /, options: EvaluateOptions = EvaluateOptions()) -> int:
    """Play fixed-seed episodes of RUN's policy in a real browser, each to its end.

    Examples
    --------
    attract eval latest  # the newest run
    attract eval latest --version first --episodes 20 --seed 7  # how it began, other episodes
    attract eval latest --json  # for scripts
    """
    check_installed("train", "attract eval")
    # The gateway takes a moment to import, of which `--help` and wrong usage have no need.
    from attract.commands.evaluating import evaluate_run
    from attract.server.app_server import run_async

    return run_async(evaluate_run(run, options, flags.server_settings(options)))
