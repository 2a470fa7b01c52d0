"""Join links and health checks."""

import http.server
import socket
import threading

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
    with pytest.raises(ConfigurationError, match="is no http address"):
        split_link(link, "abc")


def test_a_missing_token_says_where_one_comes_from() -> None:
    with pytest.raises(ConfigurationError, match="ATTRACT_WORKER_TOKEN"):
        split_link("http://h:1/", None)


def test_health_is_a_200_from_healthz() -> None:
    class Health(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/healthz" else 404)
            self.end_headers()

        def log_message(self, *_arguments: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Health)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    assert ill_health(url) is None
    assert ill_health(f"{url}/") is None
    server.shutdown()
    thread.join()
    server.server_close()
    assert "refused" in str(ill_health(url))


def test_why_a_trainer_is_not_well_is_said(capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
    assert "refused" in str(ill_health(f"http://127.0.0.1:{port}"))
    assert "unknown url type" in str(ill_health("trainer"))
    with pytest.raises(SystemExit) as ended:
        cli.app(["health", f"http://127.0.0.1:{port}"], result_action="sys_exit")
    assert ended.value.code == 1
    assert f"http://127.0.0.1:{port} is not well: no answer" in capfd.readouterr().err
