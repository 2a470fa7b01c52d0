"""`deploy`: a cluster takes the manifests, and what they start is understood."""

import itertools
from typing import Any

import kubernetes_validate
import pytest
import yaml

from attract import cli
from attract.cli import WRITTEN_SO
from attract.settings.run import SERVER_VARIABLES
from attract.settings.variables import OTHER_VARIABLES
from check_rules import ROOT

DOCUMENTS: list[dict[str, Any]] = list(
    itertools.chain.from_iterable(
        yaml.safe_load_all(path.read_text())
        for path in sorted((ROOT / "deploy" / "k8s").glob("*.yaml"))
        if path.name != "kustomization.yaml"
    )
)
CONTAINERS: dict[str, dict[str, Any]] = {
    document["metadata"]["name"]: container
    for document in DOCUMENTS
    if document["kind"] in ("StatefulSet", "Deployment")
    for container in document["spec"]["template"]["spec"]["containers"]
}


@pytest.mark.parametrize("version", ["1.28", kubernetes_validate.latest_version()])
def test_kubernetes_every_manifest_is_what_the_cluster_takes(version: str):
    for document in DOCUMENTS:
        kubernetes_validate.validate(document, version, strict=True)


@pytest.mark.parametrize("workload", CONTAINERS)
def test_kubernetes_every_command_is_understood_and_every_variable_is_read(workload: str):
    program, *words = CONTAINERS[workload]["command"]
    assert program == "attract"
    cli.app.parse_args([WRITTEN_SO.get(word, word) for word in words], exit_on_error=False, print_error=False)
    variables = {variable["name"] for variable in CONTAINERS[workload]["env"]}
    known = {*SERVER_VARIABLES, *OTHER_VARIABLES}
    assert {name for name in variables if name.startswith("ATTRACT_")} <= known
