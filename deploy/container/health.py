"""`python -m deploy.container.health`: exits with 0 while the process of this container is alive.

It asks `/livez` of the port of metrics, which every process has. `/readyz` is for load balancers:
a process that waits for Kafka is not ready and need not be restarted.
"""

import sys
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from schemas.runtime.environment import load_settings

TIMEOUT_SECONDS = 4.0


def main() -> None:
    """Print the reason and exit with 1 when the process does not answer."""
    port = load_settings().metrics_port
    if not port:
        sys.exit("TIDEMARK_METRICS_PORT is 0: there is no health to ask for; set another port")
    try:
        build_opener(ProxyHandler({})).open(f"http://127.0.0.1:{port}/livez", None, TIMEOUT_SECONDS)
    except (URLError, OSError) as error:
        sys.exit(f"the process does not answer on port {port}: {error}")


if __name__ == "__main__":
    main()
