"""A part of a benchmark in a process of its own, asked and answered by lines."""

from pathlib import Path

import pytest
from pydantic import BaseModel

from attract_benchmarks.harness.child import running

PROGRAM = """
import asyncio, os
from pydantic import BaseModel
from attract_benchmarks.harness.child import questions, say

class Number(BaseModel):
    number: int

async def main():
    async for line in questions():
        asked = Number.model_validate_json(line).number
        if asked < 0:
            os._exit(7)
        say(Number(number=asked * 2))
    open("ended", "w").close()

asyncio.run(main())
"""


class Number(BaseModel):
    number: int


async def test_a_child_answers_in_turn_and_ends_with_the_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "doubling_child.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    async with running("doubling_child") as child:
        assert child.pid > 0
        answers = [(await child.ask(Number(number=number), Number)).number for number in (1, 20)]
        assert answers == [2, 40]
    assert (tmp_path / "ended").exists()
    async with running("doubling_child") as child:
        with pytest.raises(RuntimeError, match="expected an answer of doubling_child, it has ended"):
            await child.ask(Number(number=-1), Number)
