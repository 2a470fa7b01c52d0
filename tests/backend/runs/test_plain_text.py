import pytest

from attract.runs.plain_text import plain, shortened


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Übung macht 雪 the master", "Übung macht 雪 the master"),
        ("a\nb\rc\td", r"a\nb\rc\td"),
        ("\x1b]0;title\x07\x9b31m", r"\x1b]0;title\x07\x9b31m"),
        ("one\u2028two\u202eeno\u200b", r"one\u2028two\u202eeno\u200b"),
        ("lone \ud800", r"lone \ud800"),
        ("no\xa0break", "no\xa0break"),
        ("x ##[add-mask]y", r"x ##\[add-mask]y"),
        (" ::error::z a::b", r" :\:error::z a::b"),
    ],
)
def test_what_is_not_to_be_seen_is_written_out(text: str, shown: str):
    assert plain(text) == shown


def test_long_text_is_cut_before_it_is_written_out():
    assert plain("\x00" * 5, 3) == r"\x00\x00\x00..."
    assert plain("abc", 3) == "abc"


def test_a_text_is_shortened_where_it_is_longer():
    assert shortened("abc", 3) == "abc"
    assert shortened("abcd", 3) == "abc..."
    assert shortened("x" * 5_000) == "x" * 1_000 + "..."
