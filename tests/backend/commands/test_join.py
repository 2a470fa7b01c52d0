"""Join links and health checks."""

import http.server
import socket
import threading
from collections.abc import Iterator

import pytest

from attract import cli
from attract.commands.join import ill_health, split_link
from attract.errors import ConfigurationError


def test_a_join_link_carries_its_token() -> None:
    assert split_link("http://10.0.0.2:8000/join.html#token=abc&workers=2", None) == (
        "http://10.0.0.2:8000/",
        "abc",
    )


def test_an_address_behind_a_prefix_keeps_it() -> None:
    assert split_link("https://host/proxy/8000/", "abc") == ("https://host/proxy/8000/", "abc")


def test_a_token_given_apart_wins() -> None:
    assert split_link("http://h/#token=abc", "xyz")[1] == "xyz"


@pytest.mark.parametrize("link", ["trainer:8000", "ftp://h/", "http://"])
def test_what_is_no_http_address_is_refused(link: str) -> None:
    with pytest.raises(ConfigurationError, match="is not an http address"):
        split_link(link, "abc")


def test_a_missing_token_says_where_one_comes_from() -> None:
    with pytest.raises(ConfigurationError, match="ATTRACT_WORKER_TOKEN"):
        split_link("http://h:1/", None)


@pytest.fixture
def healthy() -> Iterator[str]:
    """The address of a server that is well."""

    class Health(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/healthz" else 404)
            self.end_headers()

        def log_message(self, *_arguments: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Health)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_health_is_a_200_from_healthz(healthy: str, nobody: str) -> None:
    assert ill_health(healthy) is None
    assert ill_health(f"{healthy}/") is None
    assert "refused" in str(ill_health(nobody))


@pytest.fixture
def nobody() -> str:
    """An address at which nobody answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"


def without_exceptions(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY"])
def test_loopback_goes_through_no_proxy(
    healthy: str, nobody: str, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    without_exceptions(monkeypatch)
    monkeypatch.setenv(name, nobody)
    assert ill_health(healthy) is None
    assert ill_health(healthy.replace("127.0.0.1", "localhost")) is None


def test_a_proxy_that_does_not_answer_is_named_without_its_password(
    nobody: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = nobody.rpartition(":")[2]
    without_exceptions(monkeypatch)
    monkeypatch.setenv("http_proxy", f"http://me:secret@127.0.0.1:{port}")
    said = str(ill_health("http://trainer.invalid:8000"))
    assert f"no answer through the proxy 127.0.0.1:{port} of the environment: " in said
    assert "refused" in said and "secret" not in said


def test_why_a_trainer_is_not_well_is_said(capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
    assert "refused" in str(ill_health(f"http://127.0.0.1:{port}"))
    assert "unknown url type" in str(ill_health("trainer"))
    with pytest.raises(SystemExit) as ended:
        cli.app(["health", f"http://127.0.0.1:{port}"], result_action="sys_exit")
    assert ended.value.code == 1
    assert f"http://127.0.0.1:{port} is unhealthy: no answer" in capfd.readouterr().err
