"""`attract cluster`: the flags of `attract train`, and how many there shall be of what."""

from typing import Annotated, Any

from cyclopts import App, Parameter
from cyclopts.validators import Number
from rich.console import Console

from attract.cli.completion import GameWord
from attract.cli.configuration import run_settings, served_game, server_settings
from attract.cli.flags import AtLeastOne, given_flags, mistake
from attract.cli.training import train
from attract.games.page_places import names_page

AtLeastNone = Parameter(validator=Number(gte=0))


def cluster(
    game: Annotated[str, GameWord],
    /,
    *words: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    cells: Annotated[int, AtLeastOne] = 1,
    hosts: Annotated[int, AtLeastNone] = 0,
    gpus: Annotated[int, AtLeastNone] = 0,
    address: str = "auto",
) -> int:
    """Train GAME on a Ray cluster: attract cluster GAME --cells 2 --hosts 8 [flags of attract train].

    Each cell is an `attract train`, their learners make each update together, and what cell 0 says is shown
    here. GAME, a --config file and Attract itself are at the same place on every node; so is --runs-dir, on
    a file system that all share, where a cell shall outlive its node. Needs pip install 'attract[ray]'.

    Parameters
    ----------
    game
        As for attract train, and before all flags.
    cells
        Trainings that learn as one, each with its browsers on one node.
    hosts
        Headless browsers spread over all nodes, each with --workers workers; they play for the cells in turn,
        which then have none of their own.
    gpus
        Whole GPUs of each cell's learner.
    address
        HOST:PORT of the cluster's head node. auto: the cluster that this machine is a node of, or that
        $RAY_ADDRESS names; where there is none, one is started on this machine. local: always that.
    """
    from attract.commands.cluster import ClusterOptions, train_on_cluster
    from attract.commands.train import settings_beneath
    from attract.server.in_process import run_async
    from attract.settings.presets import layer_settings
    from attract.settings.run import RunSettings

    given = _train_flags(game, words)
    flags = given_flags(given.get("server_flags"))
    server = server_settings(
        port=given.get("port"),
        runs_dir=given.get("runs_dir"),
        project_dir=given.get("project_dir"),
        **flags,
    )
    if names_page(game):
        from attract.commands.probe import adapter_of

        game = str(run_async(adapter_of(game, server)))
    game, server = served_game(game, server)
    # A run to go on with may lie on the nodes alone: what it had is read there.
    beneath = settings_beneath(game, server, resumed=None)
    aliases = {name: given.get(name) for name in ("workers", "max_workers", "instances", "demonstrations")}
    own = run_settings(beneath, given.get("config"), given.get("settings"), **aliases)
    settings = RunSettings.from_mapping(layer_settings(beneath.values, own))
    order = ClusterOptions(
        game=game,
        words=words,
        cells=cells,
        hosts=hosts,
        gpus=gpus,
        workers=settings.collection.num_workers,
        address=address,
        run_id=given.get("run_id"),
        headless=given.get("headless", True),
    )
    return train_on_cluster(order, server)


def _train_flags(game: str, words: tuple[str, ...]) -> dict[str, Any]:
    """What `attract train` understands of these words, by its parameters' names; a mistake ends it."""
    app = App(
        name="attract cluster",
        default_command=train,
        error_formatter=mistake,
        error_console=Console(stderr=True, soft_wrap=True, highlight=False),
    )
    _, bound, _ = app.parse_args([game, *words], exit_on_error=True, print_error=True)
    return dict(bound.arguments)
