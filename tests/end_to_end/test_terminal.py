"""`attract train` in a terminal: what it prints at the end, and that the dashboard works afterwards."""

import re
from pathlib import Path

import httpx
import psutil
import pytest

from terminal import open_terminal
from waiting import WAIT_SECONDS

TRAIN = "attract train cartpole --workers 1 --total-steps 4096 --no-check --port 0 --run-id first"
LINK = re.compile(r"dashboard: (http://[\d.:]+/)#token=([\w.-]+)")


def test_a_training_in_a_terminal_serves_its_dashboard_until_ctrl_c_and_keeps_its_exit_code(
    tmp_path: Path,
) -> None:
    with open_terminal(tmp_path, columns=60) as terminal:
        # The goal is out of reach: exit code 3.
        terminal.start(f"{TRAIN} --until-return 400")
        terminal.wait_for("done; the dashboard stays open until Ctrl-C")
        said = terminal.said
        assert "goal of 400 not reached" in said
        for command in (
            "attract eval latest",
            "attract export latest --out policy --format js",
            "attract serve",
        ):
            assert re.search(rf"^  {command} ", said, re.MULTILINE), said
        # Narrower than the link: it is whole all the same.
        links = terminal.wait_for(rf"(?s)stays open until Ctrl-C\n+{LINK.pattern}\n")
        address, token = links[1], links[2]
        # The browser and the learner are gone.
        names = [" ".join(process.cmdline()) for process in terminal.processes()]
        assert len(names) == 1 and " train cartpole" in names[0], names
        with httpx.Client(base_url=address, headers={"authorization": f"Bearer {token}"}) as client:
            run = client.get("api/runs/first").json()
            assert run["state"] == "finished"
            model = client.get(f"api/runs/first/policy/{run['policy_version']}.onnx")
            assert (model.status_code, b"attract-policy" in model.content) == (200, True)
            # "Train again": it waits for workers, as with `attract serve`.
            again = client.post("api/runs", json={"game": "cartpole", "settings": {}, "run_id": "second"})
            assert (again.status_code, again.json()["state"]) == (201, "starting")
        terminal.press("\x03")
        code, said = terminal.ended()
        assert (code, "Traceback" in said) == (3, False), said


# `make test` has trainings without a terminal, which end by themselves, in many files.
@pytest.mark.long
@pytest.mark.parametrize(
    ("flag", "environment"), [("--exit", {}), ("", {"CI": "true"}), ("", {"AI_AGENT": "agent"})]
)
def test_a_training_in_a_terminal_ends_by_itself_where_nobody_waits(
    flag: str, environment: dict[str, str], tmp_path: Path
) -> None:
    with open_terminal(tmp_path, environment=environment) as terminal:
        code, said = terminal.type(f"{TRAIN} {flag}")
        assert (code, "stays open" in said) == (0, False), said
        assert "attract eval latest" in said


# `make test` has a training that Ctrl-C ends without a terminal in test_interrupt.py.
@pytest.mark.long
def test_ctrl_c_before_the_end_saves_and_ends_at_once(tmp_path: Path) -> None:
    with open_terminal(tmp_path) as terminal:
        terminal.start(TRAIN.replace("--total-steps 4096", ""))
        terminal.wait_for(r"updates [1-9]")
        family = terminal.processes()
        terminal.press("\x03")
        code, said = terminal.ended()
        assert (code, "stays open" in said) == (130, False), said
        assert (tmp_path / "runs" / "first" / "export" / "policy.onnx").is_file()
        _gone, alive = psutil.wait_procs(family, timeout=WAIT_SECONDS)
        assert alive == []
