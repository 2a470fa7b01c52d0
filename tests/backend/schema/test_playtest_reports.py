"""Reports of `attract ci` as they are listed."""

import pytest
from pydantic import ValidationError

from attract.playtest.report import Finding, Report
from attract.schema.playtest_reports import PlaytestFinding, PlaytestReport
from playtest_reports import failed, found


def test_a_report_of_the_command_is_read_and_what_is_not_shown_is_left_out():
    whole = failed(found(), game_id="Counting-v1")
    listed = PlaytestReport.model_validate_json(whole.model_dump_json())
    assert (listed.game_id, listed.verdict, listed.episodes) == ("Counting-v1", "findings", 64)
    assert listed.findings[0].text == found().text
    assert {"oracles", "players"}.isdisjoint(listed.model_dump())


def test_what_is_shown_has_the_names_of_the_command_s_report():
    added = {"folder", "written_at"}
    assert PlaytestReport.model_fields.keys() - added <= Report.model_fields.keys()
    assert PlaytestFinding.model_fields.keys() - {"problem"} <= Finding.model_fields.keys()


@pytest.mark.parametrize("change", [{"format": "junit"}, {"version": 2}, {"verdict": "perhaps"}])
def test_another_document_is_refused(change: dict[str, object]):
    document = failed(found()).model_dump(mode="json") | change
    with pytest.raises(ValidationError):
        PlaytestReport.model_validate(document)
