"""What `attract join` says of a trainer that comes and goes, and when it leaves; time is a number."""

import dataclasses

from attract.commands.trainer_watch import PageStatus, Problem, TrainerWatch

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
