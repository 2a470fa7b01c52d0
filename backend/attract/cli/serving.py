"""Commands that serve, join or examine a machine: `serve`, `join`, `health`, `doctor`."""

import os
import sys
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from attract.cli.configuration import server_settings
from attract.cli.flags import (
    AtLeastOne,
    Host,
    Port,
    ProjectDir,
    RunsDir,
    ServedFlags,
    ServerFlags,
    given_flags,
)
from attract.commands.output import CommandConsole
from attract.processes.exit_codes import DONE, FAILED
from attract.settings.run import ServerSettings

DEFAULT_URL = f"http://{ServerSettings().host}:{ServerSettings().port}"


def serve(
    *,
    host: Host = None,
    port: Port = None,
    runs_dir: RunsDir = None,
    project_dir: ProjectDir = None,
    server_flags: ServerFlags = ServedFlags(),  # noqa: B008 - cyclopts reads the shape of the default
) -> int:
    """Serve the dashboard: choose a game, train, watch, play."""
    from attract.commands.serve import serve_dashboard
    from attract.server.app_server import run_async

    server = server_settings(
        host=host,
        port=port,
        runs_dir=runs_dir,
        project_dir=project_dir,
        **given_flags(server_flags),
    )
    return run_async(serve_dashboard(server))


def join(
    url: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    workers: Annotated[int, AtLeastOne] = 1,
    token: str | None = None,
    until_gone: Annotated[float | None, Parameter(validator=Number(gt=0))] = None,
) -> int:
    """Join a remote trainer with a headless browser, until its run ends or Ctrl-C.

    It waits while the trainer is away. An error that waiting cannot fix (a wrong token, an untrusted
    certificate, no server at the address) ends it with exit code 2 and the reason.

    Parameters
    ----------
    url
        Address of the trainer, or a join link with its token. `-` reads it from stdin, so that the token is
        not visible in the process list.
    workers
        Number of workers to run.
    token
        Worker token; by default from the link, $ATTRACT_WORKER_TOKEN_FILE or $ATTRACT_WORKER_TOKEN.
    until_gone
        Seconds that the trainer may be unreachable, also at the start, before exit code 4. By default a
        trainer that was reached once is waited for indefinitely.
    """
    from attract.commands.join import join_trainer, worker_token
    from attract.server.app_server import run_async

    link = sys.stdin.readline().strip() if url == "-" else url
    token = token or worker_token(os.environ)
    return run_async(join_trainer(link, workers, token, until_gone_seconds=until_gone))


def health(
    url: str = DEFAULT_URL,
    /,
    *,
    json_output: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Exit with 0 if the server at URL answers; for health checks of containers.

    Parameters
    ----------
    url
        Address of the trainer.
    json_output
        Print one JSON object and nothing else on stdout.
    """
    from attract.commands.join import ill_health

    problem = ill_health(url)
    if json_output:
        from attract.commands.json_output import print_answer
        from attract.schema.answers import HealthAnswer

        print_answer(HealthAnswer(url=url, ok=problem is None, problem=problem))
    elif problem is not None:
        print(f"{url} is unhealthy: {problem}", file=sys.stderr)
    return DONE if problem is None else FAILED


def doctor(
    *,
    json_output: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Check this machine for what Attract needs, and print the command that fixes each problem.

    Parameters
    ----------
    json_output
        Print one JSON object and nothing else on stdout.
    """
    from attract.commands.doctor import doctor_answer, examine, table_of
    from attract.commands.json_output import print_answer

    findings = examine()
    answer = doctor_answer(findings)
    if json_output:
        print_answer(answer)
    else:
        CommandConsole().print(table_of(findings))
    return DONE if answer.ok else FAILED
