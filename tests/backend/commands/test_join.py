"""`attract join` and `attract health`: links, health checks, and when a host gives up."""

import dataclasses
import http.server
import io
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from attract import cli
from attract.commands import health, join
from attract.commands.join import split_link
from attract.commands.trainer_watch import PageStatus, Problem, TrainerWatch
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


def ill_health(url: str) -> str | None:
    problem = health.problem_of(url)
    return None if problem is None else problem.text


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

    def problem_of(url: str) -> Problem | None:
        asked.append(url)
        return None if url == health.DEFAULT_URL else Problem("no answer")

    monkeypatch.setattr(health, "problem_of", problem_of)
    assert attract("health") == 0
    assert attract("health", "http://there:1") == 1
    assert asked == ["http://127.0.0.1:8000", "http://there:1"]
    assert capsys.readouterr().err == "http://there:1 is unhealthy: no answer\n"


REFUSED = Problem("no answer: connection refused")
CONNECTED = PageStatus(connected=True, ended=False)
ADDRESS = "http://trainer:8000"


def joined(until_gone_seconds: float | None = None) -> TrainerWatch:
    """A watch whose trainer answered at 0 and let the page in at 1."""
    watch = TrainerWatch(ADDRESS, until_gone_seconds=until_gone_seconds, now=0.0)
    assert watch.heard(None, 0.0) == []
    assert watch.page(CONNECTED, 1.0) == [f"joined {ADDRESS}"]
    return watch


def away(watch: TrainerWatch, begin: int, end: int, problem: Problem = REFUSED) -> list[str]:
    """All it says while the trainer does not answer, asked once a second."""
    return [line for now in range(begin, end) for line in watch.heard(problem, float(now))]


def test_scale_01_it_stays_while_the_trainer_is_away_and_says_so_once() -> None:
    watch = joined()
    assert away(watch, 10, 3610) == ["trainer away, waiting: no answer: connection refused"]
    assert watch.outcome is None
    assert watch.heard(None, 3610.0) == ["back after 3600 s"]
    assert away(watch, 3700, 3720) == ["trainer away, waiting: no answer: connection refused"]


def test_scale_01_one_late_answer_is_no_absence() -> None:
    watch = joined()
    assert away(watch, 10, 14) == []
    assert watch.heard(None, 14.0) == []


def test_scale_01_until_gone_gives_up() -> None:
    watch = joined(until_gone_seconds=60)
    away(watch, 10, 70)
    assert watch.outcome is None
    away(watch, 70, 72)
    assert watch.outcome == "gone"
    assert watch.reason == f"the trainer at {ADDRESS} was away for 60 s: no answer: connection refused"


def test_scale_01_the_good_bye_ends_it() -> None:
    watch = joined()
    goodbye = PageStatus(connected=False, ended=True, error="the training is done", is_done=True)
    assert watch.page(goodbye, 5.0) == []
    assert (watch.outcome, watch.reason) == ("done", "the training is done")


def test_scale_02_nobody_at_the_address_is_told_at_once_and_ends_it_within_10_s() -> None:
    watch = TrainerWatch(ADDRESS, until_gone_seconds=None, now=0.0)
    assert watch.heard(REFUSED, 0.1) == ["trainer away, waiting: no answer: connection refused"]
    assert away(watch, 1, 8) == []
    assert watch.outcome is None
    away(watch, 8, 10)
    assert watch.outcome == "refused"
    assert "--until-gone" in watch.reason


def test_scale_02_until_gone_waits_for_a_trainer_that_is_not_there_yet() -> None:
    watch = TrainerWatch(ADDRESS, until_gone_seconds=300, now=0.0)
    away(watch, 0, 200)
    assert watch.outcome is None
    assert watch.heard(None, 200.0) == ["back after 200 s"]


def test_scale_02_what_does_not_mend_itself_ends_the_first_contact_at_once() -> None:
    certificate = Problem("no answer: certificate verify failed: self-signed", mends_itself=False)
    watch = TrainerWatch(ADDRESS, until_gone_seconds=300, now=0.0)
    watch.heard(certificate, 0.1)
    assert (watch.outcome, watch.reason) == ("refused", certificate.text)
    # One that was reached before may be having its certificate renewed.
    known = joined()
    assert len(away(known, 10, 100, certificate)) == 1
    assert known.outcome is None


def test_scale_02_a_page_that_was_turned_away_ends_it_with_the_reason() -> None:
    watch = TrainerWatch(ADDRESS, until_gone_seconds=None, now=0.0)
    watch.heard(None, 0.0)
    token = PageStatus(connected=False, ended=True, error="the token is missing, wrong or expired")
    for now in (1.0, 2.0, 3.0):
        assert watch.heard(None, now) == watch.page(token, now) == []
    assert watch.outcome is None
    watch.page(token, 4.0)
    assert (watch.outcome, watch.reason) == ("refused", token.error)


def test_scale_02_a_page_of_an_old_build_has_time_to_load_itself_anew() -> None:
    watch = joined()
    watch.page(PageStatus(connected=False, ended=True, error="this page is build a"), 10.0)
    watch.page(dataclasses.replace(CONNECTED, connected=False), 11.0)
    assert watch.page(CONNECTED, 14.0) == []
    assert watch.outcome is None


def test_scale_02_a_socket_that_is_not_let_in_is_told_of_once() -> None:
    watch = TrainerWatch(ADDRESS, until_gone_seconds=None, now=0.0)
    watch.heard(None, 0.0)
    waiting = PageStatus(connected=False, ended=False, error=None)
    lines = [line for now in range(1, 60) for line in watch.page(waiting, float(now))]
    assert lines == ["the trainer answers, but has not accepted this host yet; trying again"]
    assert watch.page(CONNECTED, 60.0) == [f"joined {ADDRESS}"]


def test_scale_02_a_certificate_that_only_the_browser_refuses_ends_it() -> None:
    watch = TrainerWatch(ADDRESS, until_gone_seconds=None, now=0.0)
    watch.heard(None, 0.0)
    watch.refused_by_browser("net::ERR_CERT_AUTHORITY_INVALID at https://trainer/")
    assert watch.outcome == "refused"
    known = joined()
    known.refused_by_browser("net::ERR_CERT_DATE_INVALID at https://trainer/")
    assert known.outcome is None
