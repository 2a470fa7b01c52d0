"""Models that can be had: a run's own while it is active, what was exported afterwards."""

from pathlib import Path

import pytest

from attract.errors import UnknownRunError
from gateway_world import gateway
from service_run import finished, until_update


async def test_an_active_run_gives_its_newest_versions_and_a_past_one_what_it_exported(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined():
        models = world.service.models
        run_id = (await world.start()).run_id
        await until_update(world, 2)
        newest = models.latest_version(run_id)
        assert newest >= 2 and models.model(run_id, newest) == b"onnx %d" % newest
        await world.service.stop(run_id)
        result = await finished(world)
        version = models.latest_version(run_id)
        assert version == result.policy_version and models.model(run_id, version) == b"onnx %d" % version
        assert models.policy_ids(run_id) == ("main",)
        assert b"policy_version" in models.document(run_id)
        with pytest.raises(UnknownRunError, match="no longer has the model of version 0"):
            models.model(run_id, 0)
        with pytest.raises(UnknownRunError, match="no policy scout: name one of main"):
            models.model(run_id, version, "scout")
        for ask in (models.policy_ids, models.latest_version, models.document):
            with pytest.raises(UnknownRunError, match="gone"):
                ask("gone")
