"""Ray, which nothing else imports: connecting, starting a cluster here, and actors around processes."""

import importlib.util
import logging
import os
import socket
import sys
import tempfile
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, redirect_stdout, suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, Final, TypeVar, cast

from attract.cluster.keeper import LOOPBACK, ProcessKeeper, Said
from attract.cluster.plan import ChildOrder, Place
from attract.cluster.trial_keeper import TrialKeeper
from attract.errors import AwayError, ClusterError, ConfigurationError

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

Answer = TypeVar("Answer")


def check_ray() -> None:
    """Raises: ConfigurationError: when Ray, which is an extra, is not installed."""
    if importlib.util.find_spec("ray") is None:
        raise ConfigurationError(
            "Ray is not installed", setting="attract cluster", fix="pip install 'attract[ray]', on every node"
        )


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
    check_ray()
    check_address(address)
    import ray  # pyright: ignore[reportMissingImports]

    cluster: Any = ray
    with redirect_stdout(cast("IO[str]", MainThreadOutput(sys.stdout, sys.stderr))):
        is_local = _initialize(cluster, address, num_cpus)
        try:
            yield RayCluster(cluster, is_local=is_local)
        finally:
            cluster.shutdown()


class MainThreadOutput:
    """A text stream for the main thread alone: Ray's threads print lost nodes among what a command prints."""

    def __init__(self, stream: IO[str], others: IO[str]) -> None:
        """`others`: where all other threads write."""
        self._stream = stream
        self._others = others

    def write(self, text: str) -> int:
        """Write to the stream of the thread."""
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
        except ConnectionError as error:
            if address != "auto" or os.environ.get("RAY_ADDRESS"):
                raise _refused(address, error) from None
        except (RuntimeError, ValueError) as error:
            raise _refused(address, error) from None
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


def _refused(address: str, error: Exception) -> ConfigurationError:
    text = str(error).strip().splitlines()
    return ConfigurationError(
        f"Ray does not connect to {address}: {text[0] if text else type(error).__name__}",
        setting="--address",
        fix="the command runs on a node of the cluster, with its Ray and Python: see ray job submit",
    )


class RayCluster:
    """A cluster that this process is connected to; owned by the command, on its event loop."""

    def __init__(self, ray: Any, *, is_local: bool) -> None:
        """`is_local`: it was started by this command, for itself."""
        self._ray = ray
        self.is_local = is_local
        self._remove: list[Callable[[], None]] = []

    @property
    def address(self) -> str:
        """Address of the head node."""
        return str(self._ray.get_runtime_context().gcs_address)

    def node_cpus(self) -> list[int]:
        """Whole CPUs of each node that is there now."""
        return [int(node["Resources"].get("CPU", 0)) for node in self._ray.nodes() if node["Alive"]]

    def pack(self, bundles: Sequence[Mapping[str, float]]) -> "RayProcess":
        """See `Cluster`: a placement group, which waits for a node that has it all."""
        from ray.util.placement_group import (  # pyright: ignore[reportMissingImports]
            placement_group,
            remove_placement_group,
        )
        from ray.util.scheduling_strategies import (  # pyright: ignore[reportMissingImports]
            PlacementGroupSchedulingStrategy,
        )

        group: Any = placement_group([dict(bundle) for bundle in bundles], strategy="STRICT_PACK")
        remove: Callable[[Any], None] = remove_placement_group
        self._remove.append(partial(remove, group))
        strategy: Any = PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=0)
        first = bundles[0]
        return self._process(
            scheduling_strategy=strategy, num_cpus=first["CPU"], num_gpus=first.get("GPU", 0)
        )

    def spread(self, num_cpus: int) -> "RayProcess":
        """See `Cluster`."""
        return self._process(scheduling_strategy="SPREAD", num_cpus=num_cpus)

    @asynccontextmanager
    async def trial_keeper(self, num_cpus: int) -> AsyncGenerator["RayActor"]:
        """A `TrialKeeper` on some node, placed once there are CPUs, ended when the block is left."""
        actor = RayActor(
            self._ray, self._ray.remote(_TrialActor).options(num_cpus=num_cpus, max_restarts=0).remote()
        )
        try:
            yield actor
        finally:
            actor.kill()

    def _process(self, **options: Any) -> "RayProcess":
        process = RayProcess(
            self._ray,
            self._ray.remote(_ProcessActor)
            .options(max_restarts=-1, **options)
            .remote(is_local=self.is_local),
        )
        self._remove.append(process.kill)
        return process

    def close(self) -> None:
        """End the actors and give back what they had reserved."""
        while self._remove:
            with suppress(Exception):
                # A lost cluster releases nothing.
                self._remove.pop()()


def own_address(ray: Any) -> str:
    """The address by which the cluster knows this node."""
    node_id = ray.get_runtime_context().get_node_id()
    return next(str(node["NodeManagerAddress"]) for node in ray.nodes() if node["NodeID"] == node_id)


class _ProcessActor(ProcessKeeper):
    """On its node, in a worker process of Ray's."""

    def __init__(self, *, is_local: bool) -> None:
        import ray  # pyright: ignore[reportMissingImports]

        # Ray takes no loopback address for a node; where all is on one machine, no other machine may connect.
        super().__init__(LOOPBACK if is_local else own_address(ray))


class _TrialActor(TrialKeeper):
    """The same for trials, whose runs and logs lie in a folder of the node's."""

    def __init__(self) -> None:
        super().__init__(Path(tempfile.mkdtemp(prefix="attract-trial-")))


class RayActor:
    """Calls an actor's methods, and raises Ray's errors as ours."""

    def __init__(self, ray: Any, actor: Any) -> None:
        self._ray = ray
        self._actor = actor

    def kill(self) -> None:
        """End it at once, without a restart."""
        self._ray.kill(self._actor)

    async def call(self, method: str, *arguments: Any) -> Any:
        """What the method returns. Raises: AwayError, ClusterError: see `RemoteProcess`."""
        errors = self._ray.exceptions
        try:
            return await _done(getattr(self._actor, method).remote(*arguments))
        except errors.ActorUnavailableError as error:
            raise AwayError(str(error)) from None
        except errors.RayTaskError as error:
            cause = error.cause
            raise (cause if isinstance(cause, Exception) else ClusterError(str(error))) from None
        except errors.RayError as error:
            raise ClusterError(f"Ray has lost the process: {error}") from None


async def _done(reference: Awaitable[Answer]) -> Answer:
    return await reference


class RayProcess(RayActor):
    """A `RemoteProcess` in an actor, which Ray restarts elsewhere when its process or node is lost."""

    async def place(self, preferred: Sequence[int]) -> Place:
        """See `RemoteProcess`."""
        return await self.call("place", tuple(preferred))

    async def start(self, order: ChildOrder) -> None:
        """See `RemoteProcess`."""
        await self.call("start", order)

    async def read(self) -> Said:
        """See `RemoteProcess`."""
        return await self.call("read")

    async def signal(self, number: int) -> None:
        """See `RemoteProcess`."""
        await self.call("signal", number)

    async def stop(self) -> None:
        """See `RemoteProcess`."""
        await self.call("stop")
