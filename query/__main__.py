"""`python -m query --name query-1`: serves the query API."""

import argparse
import sys

from query.app import create_app
from schemas.http.admission import LimitMetrics
from schemas.http.error_bodies import query_error
from schemas.http.limit_counts import QUERY
from schemas.http.server import serve
from schemas.http.shared_limits import SharedRateLimiter
from schemas.http.telemetry_server import start_telemetry
from schemas.http.traced_app import traced
from schemas.registry import (
    DatabaseError,
    RegistryStore,
    add_registry_gauge,
    registry_unavailable,
)
from schemas.runtime.environment import InvalidSetting, load_settings
from schemas.runtime.file_permissions import set_umask
from schemas.runtime.gc_freeze import frozen_startup_objects
from schemas.runtime.log_setup import silence
from schemas.telemetry.traces import close_traces, start_traces


def main() -> None:
    """Read the settings, then serve until told to stop."""
    options = argparse.ArgumentParser(prog="python -m query", description=__doc__)
    options.add_argument("--name", default="query-1", help="name in status and heartbeats")
    name = options.parse_args().name
    try:
        settings = load_settings()
        set_umask(settings)
        silence("aiokafka")
        tracer = start_traces(settings, "query", name)
        store = RegistryStore(settings.registry_url)
        limiter = SharedRateLimiter.for_settings(settings, QUERY)
        service = create_app(settings, store, name, limiter=limiter)
    except InvalidSetting as error:
        sys.exit(f"query: {error}")
    except (DatabaseError, ImportError) as error:
        sys.exit(f"query: {registry_unavailable(error)}")
    start_telemetry(settings, name, service.app.requests, LimitMetrics(service.app.admission))
    add_registry_gauge(service.follower)
    with frozen_startup_objects():
        serve(
            traced(service.app, tracer, service.app.requests.route_of),
            settings,
            name,
            settings.query_port,
            service.problem,
            query_error,
            warning=lambda: service.app.untrusted_proxies.problem,
            drain=service.app.drain,
        )
    service.close()
    close_traces()
    store.close()


if __name__ == "__main__":
    main()
