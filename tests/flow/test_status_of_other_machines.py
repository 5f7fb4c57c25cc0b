"""`tidemark status` on a machine of its own, of services that run elsewhere."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from deploy.local.process_list import service_specs
from deploy.local.processes.process import METRICS_PORT
from schemas.runtime.environment import to_environment
from schemas.runtime.settings import Settings
from tests.flow.tenant import Tenant
from tests.installation import ROOT, free_port


def status(tenant: Tenant, folder: Path, *ports: str) -> tuple[int, Any]:
    """What a machine with an empty data folder says that shares Kafka, lake and registry."""
    shared = tenant.stack.settings
    own = Settings(
        data_dir=str(folder),
        kafka=shared.brokers,
        lake=shared.lake_url,
        registry=shared.registry_url,
        topic_prefix=shared.topic_prefix,
        consumer_group=shared.consumer_group,
    )
    asked = [option for port in ports for option in ("--at", f"127.0.0.1:{port}")]
    done = subprocess.run(
        (sys.executable, "-m", "deploy.cli", "status", "--check", "--json", *asked),
        cwd=ROOT,
        env={**tenant.stack.environment, **to_environment(own)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, json.loads(done.stdout)


def test_processes_workers_and_lag_of_other_machines_are_shown(
    tenant: Tenant, tmp_path: Path
) -> None:
    specs = service_specs(tenant.stack.settings)
    ports = [spec.variables[METRICS_PORT] for spec in specs]

    code, found = status(tenant, tmp_path, *ports)

    assert (code, found["state"], found["problems"]) == (0, "ok", []), found
    assert [(each["name"], each["state"]) for each in found["remote"]] == [
        (spec.name, "ready") for spec in specs
    ]
    workers = {each["name"]: each["partitions"] for each in found["workers"]}
    assert workers["worker-1"] > 0
    assert all(table["lagChunks"] is not None for table in found["tables"])


def test_a_machine_that_does_not_answer_is_a_problem(tenant: Tenant, tmp_path: Path) -> None:
    gone = free_port()
    ports = [spec.variables[METRICS_PORT] for spec in service_specs(tenant.stack.settings)]

    code, found = status(tenant, tmp_path, *ports, str(gone))

    problem = f"a process at 127.0.0.1:{gone}: no answer: Connection refused"
    assert (code, found["state"], found["problems"]) == (1, "degraded", [problem])
