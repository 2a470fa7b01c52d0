"""`attract rollback`: resets a run to an earlier version."""

from attract.commands import flags
from attract.commands.json_output import print_answer
from attract.processes.exit_codes import DONE
from attract.run.rollback import roll_back
from attract.schema.answers import RollbackAnswer


@flags.options
class RollbackOptions:
    to_version: int
    """The last version to keep. If it no longer exists: the next older one, or else the oldest."""
    runs_dir: flags.RunsDir = None
    json_output: flags.Json = False


def rollback(run: flags.Run, /, options: RollbackOptions) -> int:
    """Reset RUN to an earlier version, for example from before a guest sent false experience.

    Later versions are set aside. The run must not be active. `attract train --resume` continues from there.

    Examples
    --------
    attract rollback latest --to-version 40  # set aside all versions after 40
    attract rollback latest --to-version 40 --runs-dir old-runs  # in another folder
    attract train --resume --run-id latest  # continue from there
    """
    run, version = roll_back(flags.server_settings(options).runs_dir, run, options.to_version)
    if options.json_output:
        print_answer(RollbackAnswer(run_id=run, version=version))
    else:
        print(f"run {run} is at version {version}; continue with `attract train --resume --run-id {run}`")
    return DONE
