"""`attract cluster` and `attract tune --ray`: trainings on a Ray cluster."""

import asyncio
import contextlib
import dataclasses
import os
import secrets
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from attract.cluster.engine import RayCluster, check_address, check_ray, connected
from attract.cluster.keeper import Line
from attract.cluster.plan import ClusterPlan
from attract.cluster.supervisor import Supervisor
from attract.cluster.trials import ClusterRunner, cpus_for, parallel_on
from attract.commands.output import GuardedOutput
from attract.commands.tune import Trials, TuneOptions, check_optuna, tune_game
from attract.errors import ConfigurationError
from attract.processes.exit_codes import INTERRUPTED
from attract.processes.interrupt import Interrupts
from attract.runs.run_ids import create_run_id
from attract.server.app_server import run_async
from attract.server.tokens import chosen_tokens
from attract.settings.run import RunSettings, ServerSettings

TOKEN_BYTES = 32


@dataclass(frozen=True)
class ClusterOptions:
    """Options of the command line."""

    game: str
    """A bundled name, or an absolute path."""
    words: tuple[str, ...]
    """Flags for `attract train`, which understood them."""
    cells: int
    hosts: int
    gpus: int
    workers: int
    """Workers per host, or per cell without hosts."""
    address: str = "auto"
    run_id: str | None = None
    headless: bool = True


def plan_of(
    order: ClusterOptions, server: ServerSettings, environment: Mapping[str, str], folder: Path
) -> ClusterPlan:
    """The plan of what to start.

    Raises: ConfigurationError: when it cannot be.
    """
    if order.hosts and "--headless" in order.words:
        raise ConfigurationError(
            "with --hosts, cells have no browsers of their own",
            setting="--headless",
            fix="remove --headless or --hosts",
        )
    if 0 < order.hosts < order.cells:
        raise ConfigurationError(
            f"{order.hosts} for {order.cells} cells: some cells would have no workers",
            setting="--hosts",
            fix=f"--hosts {order.cells} or more; without --hosts each cell has browsers of its own",
        )
    if order.hosts and (server.tls_cert is not None or server.behind_proxy):
        raise ConfigurationError(
            "hosts of a cluster join their cells directly, in plain text",
            setting="--hosts",
            fix="remove --tls-cert and --behind-proxy, and use a private network",
        )
    chosen = chosen_tokens(server)
    port = server.port if "port" in server.model_fields_set else 0
    return ClusterPlan(
        game=order.game,
        words=order.words,
        run_id=order.run_id or create_run_id(order.game, project_dir=server.project_dir),
        runs_dir=str(server.runs_dir.resolve()),
        folder=str(folder),
        environment=dict(environment),
        cells=order.cells,
        hosts=order.hosts,
        workers=order.workers,
        has_browsers=order.headless and not order.hosts,
        gpus=order.gpus,
        token=chosen.get("worker") or secrets.token_urlsafe(TOKEN_BYTES),
        admin_token=chosen.get("admin"),
        port=port or None,
    )


def train_on_cluster(order: ClusterOptions, server: ServerSettings) -> int:
    """Train on the cluster until cell 0 has ended; its exit code.

    The first signal ends the training in order, the second at once.

    Raises:
        ConfigurationError: when what was asked for cannot be, there is no Ray or no cluster.
        ClusterError: when the cluster does not run it.
    """
    plan = plan_of(order, server, os.environ, Path.cwd())
    check_ray()
    check_address(order.address)
    say = _sayer()
    with connected(order.address, plan.demand()) as cluster:
        say(cluster_text(cluster))
        # On a single machine other devices need no access.
        plan = dataclasses.replace(plan, lan=not cluster.is_local)
        return run_async(_train(plan, cluster))


async def _train(plan: ClusterPlan, cluster: RayCluster) -> int:
    output = GuardedOutput(sys.stdout)
    say = _sayer()

    def write(line: Line) -> None:
        stream, text = line
        if stream == "stdout":
            output.write(f"{text}\n")
            output.flush()
        else:
            print(text, file=sys.stderr, flush=True)

    supervisor = Supervisor(plan, cluster, write=write, say=say)
    ends: list[asyncio.Future[None]] = []

    def on_interrupt() -> None:
        say("stopping; Ctrl-C again exits at once")
        ends.append(asyncio.ensure_future(supervisor.end(interrupts.exit_code or INTERRUPTED)))

    interrupts = Interrupts(on_interrupt)
    try:
        with interrupts.listening():
            output.when_gone(lambda: interrupts.count(signal.SIGPIPE))
            task = asyncio.ensure_future(supervisor.run())
            second = asyncio.ensure_future(interrupts.second.wait())
            await asyncio.wait((task, second), return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                # Their keepers end with the actors, and what they keep with them.
                cluster.close()
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
        cluster.close()


def cluster_text(cluster: RayCluster) -> str:
    """The printed line about the cluster."""
    nodes = cluster.node_cpus()
    size = f"{len(nodes)} {'node' if len(nodes) == 1 else 'nodes'}, CPUs: {sum(nodes)}"
    if cluster.is_local:
        return f"no Ray cluster was found or given: started one on this machine, {size}"
    return f"Ray at {cluster.address}: {size}"


def tune_on_ray(order: TuneOptions, server: ServerSettings) -> int:
    """`attract tune` whose trials run on the nodes of a cluster; the exit code.

    Raises: ConfigurationError: when what was asked for cannot be, there is no Ray or no cluster.
    """
    check_ray()
    check_optuna()
    check_address("auto")
    with connected("auto", cpus_for(1)) as cluster:
        _sayer()(cluster_text(cluster))

        def trials_of(order: TuneOptions, settings: RunSettings, folder: Path) -> Trials:
            parallel = order.parallel or parallel_on(cluster.node_cpus(), settings.collection.num_workers)
            return Trials(ClusterRunner(folder, cluster.trial_keeper), parallel)

        return run_async(tune_game(order, server, trials_of))


def _sayer() -> Callable[[str], None]:
    console = Console(stderr=True)

    def say(text: str) -> None:
        console.print(f"cluster: {text}", markup=False, highlight=False, soft_wrap=True)

    return say
