"""Ray, which nothing else imports: connecting, starting a cluster here, and its actors."""

import logging
import os
import socket
import sys
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import IO, Any, Final, cast

from attract.errors import ClusterError, ConfigurationError
from attract.processes.extras import check_installed

LOOPBACK: Final = "127.0.0.1"
PROBE_SECONDS: Final = 5.0
START_ATTEMPTS: Final = 3
"""`ray.init` gives up after a fixed 30 s, which a busy machine may take."""
SLACK: Final = {
    "RAY_raylet_start_wait_time_s": "300",
    "RAY_agent_register_timeout_ms": "300000",
    "RAY_worker_register_timeout_seconds": "300",
    "RAY_py_gcs_connect_timeout_s": "120",
    "RAY_gcs_server_request_timeout_seconds": "120",
    "RAY_health_check_timeout_ms": "30000",
    "RAY_DASHBOARD_STARTUP_TIMEOUT_S": "300",
    # Its workers stand behind all else of a machine by 15; a training without Ray does not.
    "RAY_worker_niceness": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
}
"""For a cluster of our own: limits that would end it on a busy machine, where nothing is far away."""


def check_address(address: str, environment: Mapping[str, str] = os.environ) -> None:
    """Check that a server listens there, before Ray tries for minutes.

    Args:
        address: as `--address` gives it; `auto` and `local` are always right.
        environment: `RAY_ADDRESS` is what `auto` means, where it is set.

    Raises: ConfigurationError: when it is no address, or no server answers.
    """
    setting = "--address"
    if address == "auto" and environment.get("RAY_ADDRESS", "auto") not in ("auto", "local"):
        address, setting = environment["RAY_ADDRESS"], "RAY_ADDRESS"
    if address in ("auto", "local"):
        return
    host, _, port = address.rpartition(":")
    if "://" in address or not host or not port.isdigit():
        raise ConfigurationError(
            f"{address!r} is not the HOST:PORT of a head node",
            setting=setting,
            fix="`ray start --head` prints it; from elsewhere: ray job submit -- attract cluster GAME",
        )
    try:
        with socket.create_connection((host.strip("[]"), int(port)), PROBE_SECONDS):
            pass
    except (OSError, OverflowError) as error:
        raise ConfigurationError(
            f"no Ray cluster answers at {address}: {error}",
            setting=setting,
            fix="start one with `ray start --head`, or leave --address out to have one on this machine",
        ) from None


@contextmanager
def connected(address: str, num_cpus: int) -> Generator["RayCluster"]:
    """The cluster at `address`, until the block is left; what was placed there by us is ended then.

    Args:
        address: `HOST:PORT`; `auto`: the one that this machine is a node of, else one that is started here;
            `local`: one that is started here.
        num_cpus: minimum that a cluster started here claims to have: no other node will ever join it.

    Raises: ConfigurationError: when there is no Ray, or no cluster.
    """
    check_installed("ray", "a Ray cluster")
    check_address(address)
    import ray  # pyright: ignore[reportMissingImports]

    engine: Any = ray
    with redirect_stdout(cast("IO[str]", MainThreadOutput(sys.stdout, sys.stderr))):
        is_local = _initialize(engine, address, num_cpus)
        try:
            yield RayCluster(engine, is_local=is_local)
        finally:
            engine.shutdown()


class MainThreadOutput:
    """A text stream for the main thread alone: Ray's threads print lost nodes among what a command prints."""

    def __init__(self, stream: IO[str], others: IO[str]) -> None:
        """`others`: where all other threads write."""
        self._stream = stream
        self._others = others

    def write(self, text: str) -> int:
        is_main = threading.current_thread() is threading.main_thread()
        return (self._stream if is_main else self._others).write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _initialize(ray: Any, address: str, num_cpus: int) -> bool:
    """Connect or start; whether it was started."""
    # It logs tokens and dashboards; errors are raised.
    logging.getLogger("ray").setLevel(logging.ERROR)
    quiet = {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": False}
    if address != "local":
        try:
            ray.init(address=address, **quiet)
            return False
        except (ConnectionError, RuntimeError, ValueError) as error:
            is_given = address != "auto" or os.environ.get("RAY_ADDRESS")
            if is_given or not isinstance(error, ConnectionError):
                said = str(error).strip().splitlines()
                raise ConfigurationError(
                    f"Ray does not connect to {address}: {said[0] if said else type(error).__name__}",
                    setting="--address",
                    fix="the command runs on a node of the cluster, with its Ray and Python: "
                    "see ray job submit",
                ) from None
    for name, text in SLACK.items():
        os.environ.setdefault(name, text)
    cpus = max(os.cpu_count() or 1, num_cpus)
    for attempt in range(START_ATTEMPTS):
        try:
            ray.init(address="local", num_cpus=cpus, include_dashboard=False, **quiet)
            break
        except Exception as error:
            # Ray raises bare exceptions here.
            ray.shutdown()
            if attempt == START_ATTEMPTS - 1:
                raise ClusterError(f"Ray does not start on this machine: {error}") from None
    return True


class RayCluster:
    """A cluster that this process is connected to; owned by the command, on its event loop."""

    def __init__(self, ray: Any, *, is_local: bool) -> None:
        """`is_local`: it was started by this command, for itself."""
        self._ray = ray
        self.is_local = is_local

    @property
    def address(self) -> str:
        return str(self._ray.get_runtime_context().gcs_address)

    def node_cpus(self) -> list[int]:
        """Whole CPUs of each node that is there now."""
        return [int(node["Resources"].get("CPU", 0)) for node in self._ray.nodes() if node["Alive"]]

    def start(self, kind: type, *arguments: Any, restarts: int = -1, **options: Any) -> "RayActor":
        """An actor of this connection, which Ray places once there is room, and starts anew if it is lost.

        Args:
            kind: its class. arguments: its own.
            restarts: how often it may be started anew; below 0: always.
            options: Ray's.
        """
        placed = self._ray.remote(kind).options(max_restarts=restarts, **options).remote(*arguments)
        return RayActor(placed, restarts)

    def packed(self, bundles: Sequence[Mapping[str, float]]) -> dict[str, Any]:
        """Options of an actor in the first of these bundles of resources, which wait for a node with all."""
        util = self._ray.util
        group = util.placement_group([dict(bundle) for bundle in bundles], strategy="STRICT_PACK")
        strategy = util.scheduling_strategies.PlacementGroupSchedulingStrategy(
            group, placement_group_bundle_index=0
        )
        first = bundles[0]
        return {"scheduling_strategy": strategy, "num_cpus": first["CPU"], "num_gpus": first.get("GPU", 0)}

    def queue(self) -> Any:
        """A queue of Ray's beside the command, from which all actors may be handed something."""
        from ray.util.queue import Queue  # pyright: ignore[reportMissingImports]

        node = self._ray.get_runtime_context().get_node_id()
        strategy = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=False)
        return Queue(actor_options={"scheduling_strategy": strategy, "num_cpus": 0})


def here(*, is_local: bool) -> tuple[str, bool]:
    """Of an actor: the address by which others reach its node, and whether Ray has restarted it.

    Ray takes no loopback address for a node; where all is on one machine, no other machine may connect.
    """
    import ray  # pyright: ignore[reportMissingImports]

    engine: Any = ray
    address = LOOPBACK if is_local else engine.util.get_node_ip_address()
    return address, bool(engine.get_runtime_context().was_current_actor_reconstructed)


class RayActor:
    """Calls an actor's methods, from the command or another actor, and raises Ray's errors as ours."""

    def __init__(self, actor: Any, retries: int) -> None:
        """`retries`: how often a call is repeated on the next one when the actor is lost; below 0: always."""
        self._actor = actor
        self._retries = retries

    def kill(self) -> None:
        """End it at once, without a restart."""
        import ray  # pyright: ignore[reportMissingImports]

        cast("Any", ray).kill(self._actor)

    async def call(self, method: str, *arguments: Any, is_repeated: bool = True) -> Any:
        """What the method returns; a call that is not to be repeated fails while Ray restarts the actor.

        Raises: ClusterError: the actor is lost, or has failed.
        """
        from ray.exceptions import RayError  # pyright: ignore[reportMissingImports]

        try:
            # An actor whose calls are repeated by itself would let also the others wait.
            retries = self._retries if is_repeated else 0
            return await getattr(self._actor, method).options(max_task_retries=retries).remote(*arguments)
        except RayError as error:
            raise ClusterError(f"Ray has lost the process: {error}") from None
