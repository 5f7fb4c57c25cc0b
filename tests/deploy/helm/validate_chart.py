"""Renders the chart with every option and validates the objects against the schemas of Kubernetes.

`make helm` runs it in an environment of its own, with the path of a built `helm`. Kinds of other
projects (KEDA, the Prometheus operator) have no schema there: they are rendered and named.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import kubernetes_validate
import yaml

CHART = Path(__file__).parents[3] / "deploy/helm/tidemark"
VERSIONS = ("1.31", "1.37")
"""Of Kubernetes: an old one that is still run, and the newest that the schemas are known of."""
OTHER_KINDS = frozenset(("PodMonitor", "PrometheusRule", "ScaledObject"))

PODS = frozenset(("Deployment", "StatefulSet", "Job"))

OPTIONS: dict[str, tuple[str, ...]] = {
    "autoscaling": ("collector.autoscaling.enabled=true", "worker.autoscaling.enabled=true"),
    "ingress": (
        "ingress.enabled=true",
        "ingress.className=nginx",
        "ingress.annotations.team=web",
        "ingress.tls[0].secretName=certificate",
        "ingress.tls[0].hosts[0]=collect.example.com",
    ),
    "monitoring": (
        "podMonitor.enabled=true",
        "prometheusRule.enabled=true",
        "prometheusRule.labels.release=prometheus",
        "dashboards.enabled=true",
    ),
    "image": (f"image.digest=sha256:{'0' * 64}", "imagePullSecrets[0].name=registry"),
    "files": ("filesSecret=files",),
    "account": ("serviceAccount.annotations.role=tidemark",),
    "network": ("networkPolicy.clients.team=web", "networkPolicy.monitoring.team=operations"),
    "nodes": (
        "nodeSelector.disk=ssd",
        "tolerations[0].key=analytics",
        "tolerations[0].operator=Exists",
    ),
    "spool": ("settings.TIDEMARK_SPOOL_MB=1024", "collector.spool.storageClass=fast"),
    "settings": (
        "settings.TIDEMARK_LIMITS_URL=redis://valkey:6379",
        "settings.TIDEMARK_TRUSTED_PROXIES=10.0.0.0/8",
    ),
}
ALONE: dict[str, tuple[str, ...]] = {
    "no service account": ("serviceAccount.create=false",),
    "account of another": ("serviceAccount.create=false", "serviceAccount.name=lake-writer"),
    "no network policy": ("networkPolicy.enabled=false",),
    "one of each": ("collector.replicas=1", "worker.replicas=1", "query.replicas=1"),
}
"""What contradicts another option."""
REFUSED = ("worker.autoscaling.enabled=true", "worker.autoscaling.maxReplicas=17")
"""More workers than partitions."""


def main(helm: str) -> None:
    """Exits with the first complaint of helm, or of a schema."""
    every = tuple(value for values in OPTIONS.values() for value in values)
    renderings = {"defaults": (), **OPTIONS, **ALONE, "all options": every}
    for name, values in renderings.items():
        for version in VERSIONS:
            run([helm, "lint", "--strict"], version, values)
            objects = rendered(helm, version, values)
            check_accounts(objects)
            check_volumes(objects)
            kinds = [validated(each, version) for each in objects]
            others = sorted(OTHER_KINDS.intersection(kinds))
            without = f", without a schema: {', '.join(others)}" if others else ""
            print(f"Kubernetes {version}, {name}: {len(kinds)} objects{without}")
    try:
        rendered(helm, VERSIONS[0], REFUSED)
    except SystemExit as error:
        print(f"refused as it must be: {error}")
    else:
        raise SystemExit("more workers than partitions were rendered")


def run(command: Sequence[str], version: str, values: Sequence[str]) -> str:
    """What helm printed; SystemExit with its errors."""
    options = ["--kube-version", version, *(part for v in values for part in ("--set", v))]
    done = subprocess.run([*command, str(CHART), *options], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    return done.stdout


def rendered(helm: str, version: str, values: Sequence[str]) -> list[Any]:
    """The objects of the chart."""
    text = run([helm, "template"], version, values)
    return [each for each in yaml.safe_load_all(text) if each]


def check_accounts(objects: Sequence[Any]) -> None:
    """Each pod runs as an account that is made before it, or that is no part of the chart."""
    accounts = {one["metadata"]["name"]: one for one in objects if one["kind"] == "ServiceAccount"}
    for pod in (one for one in objects if one["kind"] in PODS):
        name = pod["spec"]["template"]["spec"]["serviceAccountName"]
        account = accounts.get(name)
        if account is None:
            assert not accounts, f"{name} is not made"
        else:
            assert hook(account) == hook(pod), f"{name} is not made before its pod"


def check_volumes(objects: Sequence[Any]) -> None:
    """Each mounted volume is one of the pod or of its claims; a pod with a spool has a claim."""
    for each in (one for one in objects if one["kind"] in ("Deployment", "StatefulSet")):
        pod = each["spec"]["template"]["spec"]
        [container] = pod["containers"]
        claims = [one["metadata"]["name"] for one in each["spec"].get("volumeClaimTemplates", ())]
        volumes = [*claims, *(volume["name"] for volume in pod["volumes"])]
        assert sorted(volumes) == sorted(one["name"] for one in container["volumeMounts"])
        names = {variable["name"] for variable in container["env"]}
        is_spool = "TIDEMARK_SPOOL_MB" in names and container["name"] == "collector"
        assert claims == (["data"] if is_spool else []), each["metadata"]["name"]
    targets = {(one["kind"], one["metadata"]["name"]) for one in objects}
    for one in (one for one in objects if one["kind"] == "HorizontalPodAutoscaler"):
        target = one["spec"]["scaleTargetRef"]
        assert (target["kind"], target["name"]) in targets


def hook(resource: Any) -> str | None:
    """When an object is made, unless with all others."""
    phase: str | None = resource["metadata"].get("annotations", {}).get("helm.sh/hook")
    return phase


def validated(resource: Any, version: str) -> str:
    """The kind of a valid object; the validator's own error for another one."""
    kind: str = resource["kind"]
    if kind not in OTHER_KINDS:
        kubernetes_validate.validate(resource, version, strict=True)
    return kind


if __name__ == "__main__":
    main(sys.argv[1])
