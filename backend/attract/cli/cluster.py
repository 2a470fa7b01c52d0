"""`attract cluster`: the flags of `attract train`, and the numbers of cells, hosts and GPUs."""

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

    Each cell is an `attract train`. Their learners compute each update together; the output of cell 0 is
    shown here. GAME, a --config file and Attract must have the same path on every node. For a cell to survive
    the loss of its node, --runs-dir must be on a shared file system. Needs pip install 'attract[ray]'.

    Parameters
    ----------
    game
        As for attract train; it comes before all flags.
    cells
        Ranks of the distributed training, each with its browsers on one node.
    hosts
        Headless browsers spread over all nodes, each with --workers workers. They are assigned to the cells
        in turn, which then start none of their own.
    gpus
        GPUs per cell's learner.
    address
        HOST:PORT of the cluster's head node. auto: the cluster of this machine or of $RAY_ADDRESS; without
        one, a cluster is started on this machine. local: always start one on this machine.
    """
    from attract.commands.cluster import ClusterOptions, train_on_cluster
    from attract.server.app_server import run_async

    given = _train_flags(game, words)
    flags = given_flags(given.get("server_flags"))
    server = server_settings(
        port=given.get("port"),
        runs_dir=given.get("runs_dir"),
        project_dir=given.get("project_dir"),
        **flags,
    )
    if names_page(game, server.web_dir):
        from attract.commands.probe import adapter_of

        game = str(run_async(adapter_of(game, server)))
    game, server = served_game(game, server)
    # A run to resume may exist only on the nodes: its settings are read there.
    aliases = {name: given.get(name) for name in ("workers", "max_workers", "instances", "demonstrations")}
    settings = run_settings(game, server, given.get("config"), given.get("settings"), **aliases)
    order = ClusterOptions(
        game=game,
        words=words,
        cells=cells,
        hosts=hosts,
        gpus=gpus,
        workers=settings.run.collection.num_workers,
        address=address,
        run_id=given.get("run_id"),
        headless=given.get("headless", True),
    )
    return train_on_cluster(order, server)


def _train_flags(game: str, words: tuple[str, ...]) -> dict[str, Any]:
    """The words parsed as by `attract train`, by parameter name; exits on a mistake."""
    app = App(
        name="attract cluster",
        default_command=train,
        error_formatter=mistake,
        error_console=Console(stderr=True, soft_wrap=True, highlight=False),
    )
    _, bound, _ = app.parse_args([game, *words], exit_on_error=True, print_error=True)
    return dict(bound.arguments)
