"""The whole command in this process."""

from collections.abc import Callable

import pytest

from attract import cli


@pytest.fixture
def attract(monkeypatch: pytest.MonkeyPatch) -> Callable[..., object]:
    """Runs `attract WORD ...`; its exit code."""

    def run(*words: str) -> object:
        monkeypatch.setattr("sys.argv", ["attract", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return ended.value.code

    return run
