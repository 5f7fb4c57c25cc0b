"""`python -m tests.cluster`: Tidemark as a small cluster of real parts on this machine, for trying.

Three Kafka brokers, PostgreSQL, Valkey and an S3 server run beside two collectors, three workers,
two query services, the keeper and the backfill worker; with TRINO=1 of `make cluster` also a Trino
(coordinator and worker) for large queries. Ctrl-C stops all of it; its data is deleted then.

TIDEMARK_COLLECT_PORT, _QUERY_PORT and _METRICS_PORT choose its ports. A second terminal reads its
settings from the file `cluster.env` whose path is printed.
"""

import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from schemas.runtime.environment import load_settings, to_environment
from schemas.runtime.settings import Settings
from tests.cluster.parts import cluster, runs_trino
from tests.cluster.registration import ALL_TABLES, register_tables
from tests.installation import Installation

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 5.0, 60.0


def main() -> int:
    """Start the parts, then `tidemark up` in the foreground; its exit code."""
    begun = time.monotonic()
    ports = load_settings()
    with tempfile.TemporaryDirectory(prefix="tidemark-cluster-") as folder:
        trino = ", Trino" if runs_trino() else ""
        names = f"three brokers, PostgreSQL, Valkey, an S3 server{trino}"
        print(f"cluster: starting {names} …", flush=True)
        with cluster(Path(folder) / "parts") as parts:
            print(f"cluster: parts ready after {time.monotonic() - begun:.0f} s", flush=True)
            for name in ("kafka", "lake", "engine"):
                print(f"  {name}: {parts.get(name, 'duckdb')}")
            installation = Installation(
                Path(folder) / "data",
                **parts,
                demo=True,
                collect_port=ports.collect_port,
                query_port=ports.query_port,
                metrics_port=ports.metrics_port,
            )
            settings = write_settings(Path(folder) / "cluster.env", installation)
            print(f"  for `.venv/bin/tidemark` in a second terminal: . {settings}", flush=True)
            return run(installation)


def write_settings(path: Path, installation: Installation) -> Path:
    """Write the settings for a shell to read, with passwords, for the owner only; the path."""
    defaults = to_environment(Settings())
    variables = {
        name: value
        for name, value in installation.environment.items()
        if name.startswith("AWS_") or (name in defaults and value != defaults[name])
    }
    path.touch(mode=0o600)
    path.write_text("".join(f"export {n}={shlex.quote(v)}\n" for n, v in variables.items()))
    return path


def run(installation: Installation) -> int:
    """Run until Ctrl-C, which the child gets as well, or SIGTERM, which it is sent."""
    child = subprocess.Popen(
        (sys.executable, "-m", "deploy.cli", "up"), env=installation.environment
    )
    signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    if runs_trino():
        threading.Thread(target=keep_registering, args=(installation,), daemon=True).start()
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:
            continue


def keep_registering(installation: Installation) -> None:
    """Register each table with Trino soon after its first row; end when it knows all of them."""
    pause = FIRST_PAUSE_SECONDS
    known: set[str] = set()
    while known < ALL_TABLES:
        time.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
        known = register_tables(installation)


if __name__ == "__main__":
    sys.exit(main())
