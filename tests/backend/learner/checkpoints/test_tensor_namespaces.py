"""Several policies' tensors under one roof."""

from attract.learner.checkpoints.tensor_namespaces import strip_prefix, with_prefixes


def test_a_sole_policys_names_stay_plain():
    assert with_prefixes({"main": {"a": 1, "b": 2}}) == {"a": 1, "b": 2}
    assert strip_prefix({"a": 1, "b": 2}, "main", ["main"]) == {"a": 1, "b": 2}


def test_several_policies_names_stand_behind_their_ids_and_come_back():
    parts = {"scout": {"a": 1}, "scout2": {"a": 2, "scout/a": 3}}
    whole = with_prefixes(parts)
    assert whole == {"scout/a": 1, "scout2/a": 2, "scout2/scout/a": 3}
    for policy_id, part in parts.items():
        assert strip_prefix(whole, policy_id, list(parts)) == part
    assert strip_prefix(whole, "keeper", ["scout", "keeper"]) == {}


def test_what_comes_back_is_a_copy():
    whole = {"a": 1}
    strip_prefix(whole, "main", ["main"])["b"] = 2
    with_prefixes({"main": whole})["c"] = 3
    assert whole == {"a": 1}
