"""`deploy/k8s` kept honest: what the manifests name is what the commands, the server and each other have."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

import kubernetes_validate
import pytest
import yaml

from attract import cli
from attract.cli.command_line import WRITTEN_SO
from attract.server.names import ServerNames
from attract.server.tokens import SECRET_FOLDERS
from attract.settings.cells import Cell
from attract.settings.run import SERVER_VARIABLES, ServerSettings
from attract.settings.variables import OTHER_VARIABLES
from check_rules import ROOT
from gateway_world import gateway

FOLDER = ROOT / "deploy" / "k8s"
CELLS = ROOT / "deploy" / "k8s-cells"
GUIDE = (ROOT / "docs" / "operating.md").read_text()
VERSIONS = ("1.28", "1.32", kubernetes_validate.latest_version())
"""Kubernetes: the oldest that the manifests are for, the one they were written with, the newest known."""


def documents() -> Iterator[dict[str, Any]]:
    kustomization: Any = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
    for name in kustomization["resources"]:
        yield from yaml.safe_load_all((FOLDER / name).read_text())


DOCUMENTS = list(documents())
BY_KIND: dict[str, dict[str, Any]] = {}
for _one in DOCUMENTS:
    BY_KIND.setdefault(_one["kind"], {})[_one["metadata"]["name"]] = _one
WORKLOADS: dict[str, dict[str, Any]] = BY_KIND["StatefulSet"] | BY_KIND["Deployment"]
PODS = {name: document["spec"]["template"]["spec"] for name, document in WORKLOADS.items()}
CONTAINERS: dict[str, dict[str, Any]] = {name: pod["containers"][0] for name, pod in PODS.items()}


def labels(workload: str) -> dict[str, str]:
    return WORKLOADS[workload]["spec"]["template"]["metadata"]["labels"]


def environment(workload: str) -> dict[str, str]:
    return {variable["name"]: variable["value"] for variable in CONTAINERS[workload]["env"]}


def flag(workload: str, name: str) -> str:
    words: list[str] = CONTAINERS[workload]["command"]
    return words[words.index(name) + 1]


@pytest.mark.parametrize("version", VERSIONS)
def test_kubernetes_every_manifest_is_what_the_cluster_takes(version: str):
    for document in DOCUMENTS:
        kubernetes_validate.validate(document, version, strict=True)


def test_kubernetes_all_that_was_asked_for_is_there_and_every_file_is_used():
    assert {kind: set(names) for kind, names in BY_KIND.items()} == {
        "Namespace": {"attract"},
        "ServiceAccount": {"trainer", "fleet"},
        "StatefulSet": {"trainer"},
        "Deployment": {"fleet"},
        "HorizontalPodAutoscaler": {"fleet"},
        "PersistentVolumeClaim": {"runs"},
        "Service": {"trainer"},
        "NetworkPolicy": {"trainer", "fleet"},
    }
    kustomization: Any = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
    files = {path.name for path in FOLDER.iterdir()} - {"kustomization.yaml"}
    assert files == set(kustomization["resources"])
    assert {image["name"] for image in kustomization["images"]} == {
        container["image"] for container in CONTAINERS.values()
    }
    targets = re.findall(r"^FROM \S+ AS (\w+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert {container["image"].removeprefix("attract-") for container in CONTAINERS.values()} <= set(targets)


@pytest.mark.parametrize("workload", WORKLOADS)
def test_kubernetes_every_command_is_understood_and_every_variable_is_read(workload: str):
    words: list[str]
    program, *words = CONTAINERS[workload]["command"]
    assert program == "attract"
    cli.app.parse_args([WRITTEN_SO.get(word, word) for word in words], exit_on_error=False, print_error=False)
    known = {*SERVER_VARIABLES, *OTHER_VARIABLES}
    assert {name for name in environment(workload) if name.startswith("ATTRACT_")} <= known
    # A run that is started again goes on, and the pod that the cluster starts again is such a run.
    if workload == "trainer":
        assert {"--resume=auto", "--run-id", "--no-headless", "--lan"} <= set(CONTAINERS[workload]["command"])


@pytest.mark.parametrize("workload", WORKLOADS)
def test_kubernetes_every_secret_file_is_mounted_where_it_may_be_read(workload: str):
    (command,) = re.findall(r"^ *kubectl .*create secret generic (.*)$", GUIDE, re.MULTILINE)
    secret, *files = shlex.split(command)
    keys = {file.removeprefix("--from-file=").split("=")[0] for file in files if "from-file" in file}
    paths = [value for name, value in environment(workload).items() if name.endswith("_TOKEN_FILE")]
    assert not any(name.endswith("_TOKEN") for name in environment(workload))
    volumes = {volume["name"]: volume for volume in PODS[workload]["volumes"]}
    for path in paths:
        folder, _, key = path.rpartition("/")
        assert any(folder.startswith(f"{parent}/") for parent in SECRET_FOLDERS)
        (mount,) = [mount for mount in CONTAINERS[workload]["volumeMounts"] if mount["mountPath"] == folder]
        assert mount["readOnly"] is True
        source = volumes[mount["name"]]["secret"]
        assert source["secretName"] == secret
        assert source["defaultMode"] & 0o007 == 0
        # Read by the group: the pod's files belong to root and its fsGroup.
        assert source["defaultMode"] & 0o040
        given = {item["path"]: item["key"] for item in source["items"]} if "items" in source else {key: key}
        assert given[key] in keys
    wanted = {"trainer": {"admin-token", "worker-token"}, "fleet": {"worker-token"}}
    assert {path.rpartition("/")[2] for path in paths} == wanted[workload]


@pytest.mark.parametrize("workload", WORKLOADS)
def test_kubernetes_pods_are_shut_in(workload: str):
    pod, container = PODS[workload], CONTAINERS[workload]
    assert pod["serviceAccountName"] in BY_KIND["ServiceAccount"]
    assert pod["automountServiceAccountToken"] is False
    assert BY_KIND["ServiceAccount"][workload]["automountServiceAccountToken"] is False
    # A service called `attract` would set ATTRACT_PORT, which the trainer reads.
    assert pod["enableServiceLinks"] is False
    security = pod["securityContext"]
    assert security["runAsNonRoot"] is True
    assert security["runAsUser"] == security["fsGroup"] == 1000
    assert security["seccompProfile"]["type"] in ("RuntimeDefault", "Localhost")
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["resources"]["requests"].keys() == container["resources"]["limits"].keys()
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert set(mounts.values()) == set(volumes)
    assert volumes[mounts["/dev/shm"]]["emptyDir"]["medium"] == "Memory"
    # Nothing else can be written: Chromium's profile and the home folder are in /tmp.
    assert environment(workload)["HOME"] == "/tmp"
    assert "emptyDir" in volumes[mounts["/tmp"]]


def test_kubernetes_the_runs_are_on_the_volume_that_outlives_the_pod():
    mounts = {mount["mountPath"]: mount["name"] for mount in CONTAINERS["trainer"]["volumeMounts"]}
    (runs,) = [
        volume
        for volume in PODS["trainer"]["volumes"]
        if volume["name"] == mounts[environment("trainer")["ATTRACT_RUNS_DIR"]]
    ]
    assert runs["persistentVolumeClaim"]["claimName"] in BY_KIND["PersistentVolumeClaim"]
    # One writer (rule D3), and as long for its end as the compose file gives it.
    assert WORKLOADS["trainer"]["spec"]["replicas"] == 1
    compose: Any = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    for name, pod in PODS.items():
        assert f"{pod['terminationGracePeriodSeconds']}s" == compose[name]["stop_grace_period"]


def test_kubernetes_ports_and_names_lead_from_the_fleet_to_the_trainer():
    (port,) = CONTAINERS["trainer"]["ports"]
    assert port["containerPort"] == int(flag("trainer", "--port"))
    service = BY_KIND["Service"]["trainer"]["spec"]
    assert service["selector"].items() <= labels("trainer").items()
    (served,) = service["ports"]
    assert served["targetPort"] == port["name"]
    assert service["publishNotReadyAddresses"] is True
    assert flag("fleet", "join") == f"http://trainer:{served['port']}"
    assert WORKLOADS["trainer"]["spec"]["serviceName"] in BY_KIND["Service"]
    names = ServerNames(ServerSettings.from_environment(environment("trainer"), lan=True))
    address = "10.244.0.7"
    known = {
        host: names.is_known_host(
            {"type": "http", "server": (address, 8000), "headers": [(b"host", f"{host}:8000".encode())]}
        )
        # The fleet's, another namespace's, the kubelet's, and a stranger's.
        for host in ("trainer", "trainer.attract.svc", address, "attacker.example")
    }
    assert known == {"trainer": True, "trainer.attract.svc": True, address: True, "attacker.example": False}


def test_kubernetes_selectors_find_their_pods_and_no_others():
    for name, workload in WORKLOADS.items():
        wanted = workload["spec"]["selector"]["matchLabels"]
        assert [workload for workload in WORKLOADS if wanted.items() <= labels(workload).items()] == [name]
    for name, policy in BY_KIND["NetworkPolicy"].items():
        wanted = policy["spec"]["podSelector"]["matchLabels"]
        assert [workload for workload in WORKLOADS if wanted.items() <= labels(workload).items()] == [name]
        assert set(policy["spec"]["policyTypes"]) == {"Ingress", "Egress"}


def test_kubernetes_the_fleet_reaches_the_trainer_and_a_name_server_and_nobody_reaches_the_fleet():
    trainer, fleet = (BY_KIND["NetworkPolicy"][name]["spec"] for name in ("trainer", "fleet"))
    (port,) = CONTAINERS["trainer"]["ports"]
    assert trainer["egress"] == fleet["ingress"] == []
    (rule,) = trainer["ingress"]
    assert [allowed["port"] for allowed in rule["ports"]] == [port["name"]]
    assert rule["from"][0] == {"podSelector": {"matchLabels": labels("fleet")}}
    # A peer that names nothing at all would be everybody.
    assert all(peer.get("podSelector") or peer.get("namespaceSelector") for peer in rule["from"])
    to_trainer, to_names = fleet["egress"]
    assert to_trainer["to"] == [{"podSelector": {"matchLabels": labels("trainer")}}]
    assert [allowed["port"] for allowed in to_trainer["ports"]] == [port["name"]]
    assert {allowed["port"] for allowed in to_names["ports"]} == {53}
    for label in re.findall(r"attract\.dev/\w+", (FOLDER / "network.yaml").read_text()):
        assert label in GUIDE


def test_kubernetes_the_fleet_at_its_largest_has_rows_at_the_trainer():
    scaler = BY_KIND["HorizontalPodAutoscaler"]["fleet"]["spec"]
    target = scaler["scaleTargetRef"]
    assert target["name"] in BY_KIND[target["kind"]]
    # The autoscaler says how many; a number in the Deployment would be set again by each `kubectl apply`.
    assert "replicas" not in WORKLOADS["fleet"]["spec"]
    workers = int(flag("fleet", "--workers"))
    assert scaler["maxReplicas"] * workers <= int(flag("trainer", "--max-workers"))
    # Utilisation is of what was requested.
    assert "cpu" in CONTAINERS["fleet"]["resources"]["requests"]


async def test_kubernetes_the_probes_paths_are_the_servers(tmp_path: Any):
    probes = {name: value for name, value in CONTAINERS["trainer"].items() if name.endswith("Probe")}
    assert set(probes) == {"livenessProbe", "readinessProbe", "startupProbe"}
    (port,) = CONTAINERS["trainer"]["ports"]
    async with gateway(tmp_path) as world:
        paths = {route.path for route in world.app.routes if hasattr(route, "path")}  # type: ignore[attr-defined]
    for probe in probes.values():
        assert probe["httpGet"]["path"] in paths
        assert probe["httpGet"]["port"] == port["name"]
    assert probes["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert probes["readinessProbe"]["httpGet"]["path"] == "/readyz"


# --- cells (docs/cells.md) ---


def cell_documents() -> Iterator[dict[str, Any]]:
    kustomization: Any = yaml.safe_load((CELLS / "kustomization.yaml").read_text())
    assert {path.name for path in CELLS.iterdir()} == {"kustomization.yaml", *kustomization["resources"]}
    for name in kustomization["resources"]:
        yield from yaml.safe_load_all((CELLS / name).read_text())


@pytest.mark.parametrize("version", VERSIONS)
def test_kubernetes_every_manifest_of_the_cells_is_what_the_cluster_takes(version: str):
    for document in cell_documents():
        kubernetes_validate.validate(document, version, strict=True)


def test_kubernetes_each_pod_is_told_which_cell_it_is_and_finds_cell_0():
    by_kind = {document["kind"]: document for document in cell_documents()}
    spec, service, policy = (
        by_kind["StatefulSet"]["spec"],
        by_kind["Service"],
        by_kind["NetworkPolicy"]["spec"],
    )
    (container,) = spec["template"]["spec"]["containers"]
    program, *words = container["command"]
    assert program == "attract"
    cli.app.parse_args([WRITTEN_SO.get(word, word) for word in words], exit_on_error=False, print_error=False)
    assert {"--resume=auto", "--run-id"} <= set(words)
    given = {variable["name"]: variable for variable in container["env"]}
    assert (
        given["RANK"]["valueFrom"]["fieldRef"]["fieldPath"]
        == "metadata.labels['apps.kubernetes.io/pod-index']"
    )
    values = {name: variable.get("value", "0") for name, variable in given.items()}
    cell = Cell.from_environment(values)
    assert cell is not None and cell.leads
    assert cell.size == spec["replicas"]
    # The name that a headless service gives to pod 0 of the set.
    assert service["spec"]["clusterIP"] == "None" and service["spec"]["publishNotReadyAddresses"] is True
    assert cell.address == f"{by_kind['StatefulSet']['metadata']['name']}-0.{service['metadata']['name']}"
    assert spec["serviceName"] == service["metadata"]["name"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {"http": int(words[words.index("--port") + 1]), "meeting": cell.port}
    # They meet before any of them is ready.
    assert spec["podManagementPolicy"] == "Parallel" and "readinessProbe" not in container
    own = spec["template"]["metadata"]["labels"]
    assert own == spec["selector"]["matchLabels"] == service["spec"]["selector"]
    assert policy["podSelector"]["matchLabels"] == own
    assert policy["ingress"] == [{"from": [{"podSelector": {"matchLabels": own}}]}]
    pod, (account,) = spec["template"]["spec"], [by_kind["ServiceAccount"]]
    assert pod["serviceAccountName"] == account["metadata"]["name"]
    assert pod["automountServiceAccountToken"] is account["automountServiceAccountToken"] is False
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    (claim,) = spec["volumeClaimTemplates"]
    assert mounts[values["ATTRACT_RUNS_DIR"]] == claim["metadata"]["name"]
