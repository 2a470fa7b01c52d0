"""What `attract serve` and `attract health` are called with."""

import io
from collections.abc import Callable

import pytest

from attract import cli
from attract.cli.serving import DEFAULT_URL
from attract.commands import join
from attract.settings.run import ServerSettings


def test_flags_of_the_server_reach_it_from_both_commands(
    attract: Callable[..., object],
    served: list[ServerSettings],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ATTRACT_LAN", "1")
    monkeypatch.setenv("ATTRACT_WORKER_TIER", "local")
    attract("serve")
    attract("serve", "--worker-tier", "invited", "--behind-proxy", "10.0.0.1, 10.1.0.0/16")
    plain, settings = served
    assert (plain.lan, plain.worker_tier, plain.behind_proxy) == (True, "local", ())
    assert (settings.lan, settings.worker_tier, settings.behind_proxy) == (
        True,
        "invited",
        ("10.0.0.1", "10.1.0.0/16"),
    )
    help_of = {
        command: {
            argument.names: argument.parameter.help
            for argument in cli.app[command].assemble_argument_collection(parse_docstring=True)
        }
        for command in ("serve", "train")
    }
    assert (
        help_of["serve"][("--tls-key",)]
        == help_of["train"][("--tls-key",)]
        == "Private key of the certificate in PEM. By default $ATTRACT_TLS_KEY."
    )


def test_join_reads_its_link_from_stdin(
    attract: Callable[..., object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    joined: list[tuple[object, ...]] = []

    async def join_trainer(
        url: str, workers: int, token: str | None, *, until_gone_seconds: float | None
    ) -> int:
        joined.append((url, workers, token, until_gone_seconds))
        return 4

    monkeypatch.setattr(join, "join_trainer", join_trainer)
    monkeypatch.setattr("sys.stdin", io.StringIO("https://play.example/join.html#token=secret\n"))
    monkeypatch.setenv("ATTRACT_WORKER_TOKEN", "of the variable")
    assert attract("join", "-", "--workers", "2", "--until-gone", "30") == 4
    assert attract("join", "http://there", "--token", "given") == 4
    assert joined == [
        ("https://play.example/join.html#token=secret", 2, "of the variable", 30.0),
        ("http://there", 1, "given", None),
    ]


def test_health_asks_at_the_address_of_the_defaults(
    attract: Callable[..., object],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked: list[str] = []

    def ill_health(url: str) -> str | None:
        asked.append(url)
        return None if url == DEFAULT_URL else "no answer"

    monkeypatch.setattr(join, "ill_health", ill_health)
    assert attract("health") == 0
    assert attract("health", "http://there:1") == 1
    assert asked == ["http://127.0.0.1:8000", "http://there:1"]
    assert capsys.readouterr().err == "http://there:1 is unhealthy: no answer\n"
