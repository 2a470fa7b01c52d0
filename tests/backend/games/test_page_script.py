"""A script in a third-party page."""

import pytest

from attract.games.page_files import with_first_script

TAG = b"<script>ours</script>"


@pytest.mark.parametrize(
    ("page", "begins"),
    [
        (b"<html><HEAD lang=x><script>a</script>", b"<html><HEAD lang=x>"),
        (b"<!DOCTYPE html>\n<header>x</header><script>a</script>", b"<!DOCTYPE html>"),
        (b" <!doctype html><html><head>", b" <!doctype html><html><head>"),
        (b"<script>a</script>", b""),
        (b"", b""),
    ],
)
def test_it_comes_before_the_pages_own(page: bytes, begins: bytes) -> None:
    assert with_first_script(page, TAG) == begins + TAG + page[len(begins) :]
