"""`python -m tests.cluster`: Tidemark as a small cluster of real parts on this machine, for trying.

Three Kafka brokers, PostgreSQL, Valkey and an S3 server run beside two collectors, three workers,
two query services, the keeper and the backfill worker. Ctrl-C stops all of it; its data is deleted
then.
"""

import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.cluster.parts import cluster
from tests.installation import Installation

FIRST_METRICS_PORT = 4100


def main() -> int:
    """Start the parts, then `tidemark up` in the foreground; its exit code."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tidemark-cluster-") as folder:
        print("cluster: starting three brokers, PostgreSQL, Valkey and an S3 server …", flush=True)
        with cluster(Path(folder) / "parts") as parts:
            print(f"cluster: parts ready after {time.monotonic() - begun:.0f} s", flush=True)
            for name in ("kafka", "lake"):
                print(f"  {name}: {parts[name]}")
            installation = Installation(
                Path(folder) / "data",
                **parts,
                demo=True,
                collect_port=4000,
                query_port=4001,
                metrics_port=FIRST_METRICS_PORT,
            )
            return run(installation)


def run(installation: Installation) -> int:
    """Run until Ctrl-C, which the child gets as well, or SIGTERM, which it is sent."""
    child = subprocess.Popen(
        (sys.executable, "-m", "deploy.cli", "up"), env=installation.environment
    )
    signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:
            continue


if __name__ == "__main__":
    sys.exit(main())
