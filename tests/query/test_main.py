"""`python -m query` as a process: ready, healthy, stopped in order."""

import signal
import subprocess
import sys
from pathlib import Path

from schemas.registry import RegistryStore
from schemas.runtime.environment import to_environment
from schemas.runtime.heartbeat import read_heartbeats
from schemas.runtime.settings import Settings
from tests.http_client import call
from tests.installation import ROOT, eventually, free_port
from tests.query.lake import Lake, a_view
from tests.query.query_service import NOVEMBER, fill_registry
from tests.registries import make_registry


def ready(base: str) -> bool:
    """Whether the service is ready."""
    try:
        return call("GET", f"{base}/health/ready").status == 200
    except ConnectionRefusedError:
        return False


def test_the_service_starts_answers_and_stops(tmp_path: Path) -> None:
    settings = Settings(data_dir=str(tmp_path), query_port=free_port())
    make_registry(settings.registry_url)
    store = RegistryStore(settings.registry_url)
    headers = {"x-api-key": fill_registry(store)["acme"]}
    lake = Lake(tmp_path / "lake")
    base = f"http://127.0.0.1:{settings.query_port}"
    command = [sys.executable, "-m", "query", "--name", "query-7"]
    with subprocess.Popen(command, cwd=ROOT, env=to_environment(settings)) as process:
        try:
            eventually(lambda: ready(base))
            healthy = call("GET", f"{base}/health").json
            lake.holds(a_view("/"))
            body = {"parameters": ["summary"], **NOVEMBER}
            url = f"{base}/v1/query?website_id=shop"
            eventually(
                lambda: (
                    call("POST", url, body, headers).json["data"][0]["data"][0]["pageviews"] == 1
                )
            )
            eventually(lambda: read_heartbeats(tmp_path / "run")[0].state == "ready")
            process_names = [heartbeat.process for heartbeat in read_heartbeats(tmp_path / "run")]
        finally:
            process.send_signal(signal.SIGTERM)

    assert process.returncode == 0
    assert healthy == {
        "status": "ok",
        "service": "query",
        "live": True,
        "ready": True,
        "checks": dict.fromkeys(
            ("lake", "registry", "dataFiles", "storing", "limits", "proxies"), "ok"
        ),
    }
    assert process_names == ["query-7"]
    assert read_heartbeats(tmp_path / "run") == []  # what it said holds no longer
    store.close()
