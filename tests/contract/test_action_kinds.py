"""Every kind of action of the schema is in each table of Python; `action-kinds.test.ts` has TypeScript's."""

import json
import pkgutil
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import TypeAdapter

from attract.policy import action_kinds
from attract.policy.action_kinds.table import KINDS, resolve_distribution
from attract.schema import spaces
from attract.vector.environments.gymnasium_spaces import GameSpaces
from policies import describe

sys.path.insert(0, str(Path(__file__).parent))
import distributions_golden

OF_SCHEMA = {space.model_fields["kind"].default for space in get_args(get_args(spaces.ActionSpace)[0])}
CASES = json.loads(distributions_golden.PATH.read_text())
GOLDEN: dict[str, Any] = {case["space"]["kind"]: case["space"] for case in CASES.values()}


def test_each_kind_of_the_schema_has_its_row_its_module_and_golden_draws():
    modules = {module.name for module in pkgutil.iter_modules(action_kinds.__path__)} - {"kind", "table"}
    assert OF_SCHEMA == KINDS.keys() == modules
    assert OF_SCHEMA == distributions_golden.SPACES.keys() == GOLDEN.keys()


@pytest.mark.parametrize("kind", sorted(OF_SCHEMA))
def test_what_is_said_of_a_kind_in_several_places_agrees(kind: str):
    space = TypeAdapter(spaces.ActionSpace).validate_python(GOLDEN[kind])
    assert KINDS[kind].action["dtype"] == space.action_type
    assert KINDS[kind].meanings.keys() == set(resolve_distribution(GOLDEN[kind]).output_names)
    seen = GameSpaces(describe(action=space)).action
    if isinstance(space, spaces.MixedSpace):
        assert seen["throttle"].shape == (2,) and list(seen) == ["aim", "button", "lean", "throttle"]
        return
    assert seen.shape == (tuple(space.shape) if isinstance(space, spaces.BoxSpace) else space.action_shape)
