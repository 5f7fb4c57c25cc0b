"""All processes and commands on a Kafka that requires TLS and a login, and on a wrong password."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.recorded_load import row_count
from tests.flow.tenant import Tenant
from tests.http_client import call
from tests.ingest.collector_process import CollectorProcess
from tests.installation import ROOT, Installation, eventually
from tests.secured_kafka import PASSWORD, SecuredBroker

SECONDS = 90.0


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    with SecuredBroker(tmp_path_factory.mktemp("secured") / "broker") as running:
        yield running


@pytest.fixture(scope="module")
def stack(
    tmp_path_factory: pytest.TempPathFactory, broker: SecuredBroker
) -> Iterator[Installation]:
    folder = tmp_path_factory.mktemp("stack")
    with Installation(folder, session_seconds=6, **broker.login()) as stack:
        yield stack


def test_events_and_imports_are_stored(stack: Installation, tmp_path: Path) -> None:
    tenant = Tenant.create(stack)
    items = [{"name": f"n{number}", "anonymousId": "a"} for number in range(20)]
    sent = call("POST", f"{stack.collect_url}/track?website_id={tenant.website.id}", items)
    lines = [{"name": "old", "ts": 1_551_398_400_000 + n, "anonymous_id": "b"} for n in range(30)]
    file = tmp_path / "old.ndjson"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    imported = subprocess.run(
        (sys.executable, "-m", "deploy.cli", "import", str(file), "--website", tenant.website.id),
        cwd=ROOT, env=stack.environment, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert sent.status == 200
    assert imported.returncode == 0, imported.stderr
    eventually(lambda: row_count(stack.settings.lake_url) == 50, SECONDS)


def test_commands_reach_kafka_and_no_log_has_the_password(stack: Installation) -> None:
    topics = stack.tidemark("topics")
    stack.tidemark("doctor")

    assert all(topic["in_kafka"] == topic["partitions"] for topic in topics)
    logs = [path.read_text() for path in (stack.data / "logs").glob("*.log")]
    assert len(logs) >= 5
    assert not [text for text in [*logs, stack.output.read_text()] if PASSWORD in text]
    assert PASSWORD not in json.dumps(stack.tidemark("settings"))


def test_a_collector_with_a_wrong_password_says_so(broker: SecuredBroker, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    wrong.write_text("open-0815")
    arguments = broker.login(kafka_password_file=str(wrong))
    with CollectorProcess(tmp_path, **arguments) as collector:
        text = eventually(lambda: rejection(collector), SECONDS)
        log = collector.log.read_text()

    assert "correct TIDEMARK_KAFKA_USERNAME or TIDEMARK_KAFKA_PASSWORD_FILE" in text
    assert "open-0815" not in log + text


def rejection(collector: CollectorProcess) -> str:
    checks = call("GET", f"{collector.url}/health").json["checks"]
    return next((text for text in checks.values() if "rejects the login" in text), "")
