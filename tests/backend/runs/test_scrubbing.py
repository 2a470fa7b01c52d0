import secrets
from pathlib import Path

import pytest

from attract.runs.scrubbing import Scrubber, own_folders

HOME = Path("/srv/people/ada")
TOKEN = "Zk3-" + "aB9_" * 9 + "xyz"


@pytest.fixture
def scrub() -> Scrubber:
    folders = own_folders(HOME, {"runs": HOME / "work" / "runs"})
    environment = {
        "ATTRACT_WORKER_TOKEN": "short-but-secret",
        "ATTRACT_WEBHOOK": "https://example.org/T0/B0",
        "PATH": "/usr/bin",
    }
    return Scrubber(environment, folders, ["bernoulli"])


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"dashboard: http://127.0.0.1:8000/#token={TOKEN}", TOKEN),
        ("join.html#token=abc123&workers=2", "abc123"),
        ("attract join http://127.0.0.1 --token abc123", "abc123"),
        ("authorization: Bearer abcdef123", "abcdef123"),
        ("Cookie: attract_0123abcd=s3ss10n; other=1", "s3ss10n"),
        ("set-cookie: attract_0123abcd=s3ss10n", "s3ss10n"),
        ("the jar has attract_0123abcd=s3ss10n", "s3ss10n"),
        ('{"token": "abc123"}', "abc123"),
        ("invitation=abc.def", "abc.def"),
        ("password: hunter22", "hunter22"),
        ("https://ada:hunter22@example.org/x", "hunter22"),
        (f"it said {TOKEN}.", TOKEN),
        (f"it said {TOKEN}.{'q' * 20}", "q" * 20),
        ("the fleet's is short-but-secret", "short-but-secret"),
        ("posted to https://example.org/T0/B0.", "/T0/B0"),
        ("File /srv/people/ada/work/game.ts", "/srv/people/ada"),
        ("File /home/grace/game.ts", "grace"),
        ("file:///Users/grace/game.ts", "grace"),
        ("C:\\Users\\grace\\game.ts", "grace"),
        ("/root/.cache", "/root"),
        ("a socket of 192.0.2.77 is closed", "192.0.2.77"),
        ("a socket of 2001:db8:1:2:3:4:5:6 is closed", "2001:db8"),
        ("a socket of 2001:db8::7 is closed", "2001:db8"),
        ("on bernoulli it failed", "bernoulli"),
    ],
)
def test_watched_what_must_not_leave_is_taken_out(scrub: Scrubber, text: str, secret: str):
    assert secret not in scrub.text(text)


def test_watched_what_an_issue_needs_stays(scrub: Scrubber):
    text = "\n".join(
        [
            "2026-11-22T10:11:12Z WARNING attract.server.sockets: a socket of 127.0.0.1 is closed: 1013",
            f"weights_sha256 {'0123456789abcdef' * 4}",
            "run cartpole-20261122-101112-ab12-and-a-rather-long-name-of-mine fails",
            "torch 2.13.0, Python 3.11.2, http://127.0.0.1:8000",
            "ValueError: expected (3,) got (4,)",
            "rollout/ep_rew_mean 475.0",
        ]
    )
    assert scrub.text(text) == text
    assert scrub.text("/srv/people/ada/work/runs/r1/logs") == "<runs>/r1/logs"
    assert scrub.text("/srv/people/adam/x") == "/srv/people/adam/x"


def test_watched_no_random_token_passes(scrub: Scrubber):
    for _ in range(2000):
        token = secrets.token_urlsafe(32)
        assert token not in scrub.text(f"said {token} aloud"), token
