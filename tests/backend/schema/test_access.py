"""What is said of who may come in, where a model does more than hold it."""

import pytest
from pydantic import ValidationError

from attract.schema.access import JoinLink, JoinRequest


def test_a_join_link_still_works_for_a_while():
    with pytest.raises(ValidationError, match="expires_seconds"):
        JoinLink(url="join.html", token="t", tier="local", expires_seconds=0)


def test_a_page_may_not_ask_for_a_tier_that_is_not_granted():
    assert JoinRequest().tier == "local"
    with pytest.raises(ValidationError, match="tier"):
        JoinRequest.model_validate({"tier": "public"})
