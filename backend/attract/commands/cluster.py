"""`attract cluster` and `attract tune --ray`: trainings on a Ray cluster."""

import asyncio
import contextlib
import dataclasses
import os
import secrets
import signal
import sys
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter
from cyclopts.validators import Number

from attract.cluster.engine import RayCluster, check_address, connected
from attract.cluster.member import Line
from attract.cluster.plan import ClusterPlan
from attract.cluster.training import Training
from attract.commands import flags
from attract.commands.help import mistake
from attract.commands.output import CommandConsole, GuardedOutput, say
from attract.commands.setting_flags import playable_game, run_settings
from attract.commands.train import TrainOptions, train
from attract.errors import ConfigurationError
from attract.processes.exit_codes import INTERRUPTED
from attract.processes.extras import check_installed
from attract.processes.interrupt import Interrupts
from attract.runs.run_ids import create_run_id
from attract.server.app_server import run_async
from attract.server.tokens import chosen_tokens
from attract.settings.run import ServerSettings

TOKEN_BYTES = 32


AtLeastNone = Parameter(validator=Number(gte=0))


@flags.options
class ClusterOptions:
    """Flags of `attract cluster`, beside those of `attract train`."""

    hosts: Annotated[int, AtLeastNone] = 0
    """Headless browsers spread over all nodes, each with --workers workers; the trainer then starts none."""
    gpus: Annotated[int, AtLeastNone] = 0
    """GPUs of the learner."""
    address: str = "auto"
    """HOST:PORT of the cluster's head node. auto: the cluster of this machine or of $RAY_ADDRESS; without
    one, a cluster is started on this machine. local: always start one on this machine."""


def cluster(
    game: flags.Game,
    /,
    *words: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    options: ClusterOptions = ClusterOptions(),
) -> int:
    """Train GAME on a Ray cluster: attract cluster GAME --hosts 8 [flags of attract train].

    The trainer is an `attract train`, whose output is shown here. GAME, a --config file and Attract must have
    the same path on every node. For the trainer to survive the loss of its node, --runs-dir must be on a
    shared file system. Needs pip install 'attract-rl[ray]'.

    Parameters
    ----------
    game
        As for attract train; it comes before all flags.

    Examples
    --------
    attract cluster snake --hosts 8 --workers 2  # browsers on all nodes
    attract cluster game.ts --hosts 8 --runs-dir /shared/runs  # the run outlives its node
    attract cluster snake --address local  # only on this machine
    """
    given = _train_flags(game, words)
    train_options: TrainOptions = given.get("options", TrainOptions())
    server = flags.server_settings(train_options, **given.get("server_flags", {}))
    game, server = playable_game(game, server)
    # A run to resume may exist only on the nodes: its settings are read there.
    settings = run_settings(game, server, train_options, given.get("settings", {}))
    workers = settings.run.collection.num_workers
    return train_on_cluster(plan_of(game, words, train_options, workers, options, server), options.address)


def _train_flags(game: str, words: tuple[str, ...]) -> dict[str, Any]:
    """The words parsed as by `attract train`, by parameter name; exits on a mistake."""
    app = App(
        name="attract cluster",
        default_command=train,
        error_formatter=mistake,
        error_console=CommandConsole(stderr=True, soft_wrap=True, highlight=False),
    )
    _, bound, _ = app.parse_args([game, *words], exit_on_error=True, print_error=True)
    return dict(bound.arguments)


def plan_of(
    game: str,
    words: tuple[str, ...],
    train_options: TrainOptions,
    workers: int,
    options: ClusterOptions,
    server: ServerSettings,
) -> ClusterPlan:
    """The plan of what to start; `workers` per host, or of the trainer without hosts.

    Raises: ConfigurationError: when it cannot be.
    """
    if options.hosts and "--headless" in words:
        raise ConfigurationError(
            "with --hosts, the trainer has no browsers of its own",
            setting="--headless",
            fix="remove --headless or --hosts",
        )
    if options.hosts and (server.tls_cert is not None or server.behind_proxy):
        raise ConfigurationError(
            "hosts of a cluster join the trainer directly, in plain text",
            setting="--hosts",
            fix="remove --tls-cert and --behind-proxy, and use a private network",
        )
    chosen = chosen_tokens(server)
    port = server.port if "port" in server.model_fields_set else 0
    return ClusterPlan(
        game=game,
        words=words,
        run_id=train_options.run_id or create_run_id(game, project_dir=server.project_dir),
        runs_dir=str(server.runs_dir.resolve()),
        folder=str(Path.cwd()),
        environment=dict(os.environ),
        hosts=options.hosts,
        workers=workers,
        has_browsers=train_options.headless and not options.hosts,
        gpus=options.gpus,
        token=chosen.get("worker") or secrets.token_urlsafe(TOKEN_BYTES),
        admin_token=chosen.get("admin"),
        port=port or None,
    )


def train_on_cluster(plan: ClusterPlan, address: str) -> int:
    """Train on the cluster until the trainer has ended; its exit code.

    The first signal ends the training in order, the second at once.

    Raises:
        ConfigurationError: when there is no Ray or no cluster.
        ClusterError: when the cluster does not run it.
    """
    check_installed("ray", "attract cluster")
    check_address(address)
    with connected(address, plan.demand()) as cluster:
        say_of_cluster(cluster_text(cluster))
        # On a single machine other devices need no access.
        return run_async(_train(dataclasses.replace(plan, lan=not cluster.is_local), cluster))


async def _train(plan: ClusterPlan, cluster: RayCluster) -> int:
    output = GuardedOutput(sys.stdout)

    def write(line: Line) -> None:
        stream, text = line
        if stream == "stdout":
            output.write(f"{text}\n")
            output.flush()
        elif stream == "stderr":
            print(text, file=sys.stderr, flush=True)
        else:
            say_of_cluster(text)

    training = Training(plan, cluster, write)
    ends: list[asyncio.Future[None]] = []

    def on_interrupt() -> None:
        say_of_cluster("stopping; Ctrl-C again exits at once")
        ends.append(asyncio.ensure_future(training.end(interrupts.exit_code or INTERRUPTED)))

    interrupts = Interrupts(on_interrupt)
    try:
        with interrupts.listening():
            output.when_gone(lambda: interrupts.count(signal.SIGPIPE))
            task = asyncio.ensure_future(training.run())
            second = asyncio.ensure_future(interrupts.second.wait())
            await asyncio.wait((task, second), return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                # Their processes end with the actors, which end with the connection.
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                return interrupts.exit_code or INTERRUPTED
            second.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await second
            code = task.result()
            return interrupts.exit_code or code if code == INTERRUPTED else code
    finally:
        await asyncio.gather(*ends, return_exceptions=True)


def cluster_text(cluster: RayCluster) -> str:
    """The printed line about the cluster."""
    nodes = cluster.node_cpus()
    size = f"{len(nodes)} {'node' if len(nodes) == 1 else 'nodes'}, CPUs: {sum(nodes)}"
    if cluster.is_local:
        return f"no Ray cluster was found or given: started one on this machine, {size}"
    return f"Ray at {cluster.address}: {size}"


def say_of_cluster(text: str) -> None:
    """Print a line about the cluster, on stderr."""
    say(CommandConsole(stderr=True), f"cluster: {text}")
