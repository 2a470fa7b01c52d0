"""Codes of closed sockets, and after which of them a client comes back."""

from attract.schema import close_codes

CODES = {
    name: value
    for name, value in vars(close_codes).items()
    if isinstance(value, int) and not isinstance(value, bool)
}


def test_each_code_has_one_reason_and_is_one_that_a_server_may_send():
    assert len(set(CODES.values())) == len(CODES)
    # 1005 and 1006 stand for no code at all; RFC 6455 leaves 4000 to 4999 to applications.
    assert all(1000 <= code <= 1015 or 4000 <= code <= 4999 for code in CODES.values())
    assert not {1005, 1006} & set(CODES.values())


def test_a_client_comes_back_after_what_passes_and_after_nothing_that_stays():
    passing = {"GOING_AWAY", "INTERNAL", "BACKPRESSURE", "HELLO_TIMEOUT"}
    assert {name for name, value in CODES.items() if value in close_codes.RETRY} == passing
    # A lost line has no code of ours, and a restarting proxy says 1012.
    assert {1005, 1006, 1012} <= close_codes.RETRY
