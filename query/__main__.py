"""`python -m query --name query-1`: serves the query API."""

import argparse
import sys

from query.app import create_app
from schemas.http.error_bodies import of_query
from schemas.http.server import serve
from schemas.registry import DatabaseError, Store, no_registry
from schemas.runtime.file_permissions import keep_private
from schemas.runtime.settings import SettingRefused, load


def main() -> None:
    """Read the settings, then serve until told to stop."""
    options = argparse.ArgumentParser(prog="python -m query", description=__doc__)
    options.add_argument("--name", default="query-1", help="name in status and pulses")
    name = options.parse_args().name
    try:
        settings = load()
        keep_private(settings)
        store = Store(settings.registry_url)
        service = create_app(settings, store, name)
    except SettingRefused as refused:
        sys.exit(f"query: {refused}")
    except (DatabaseError, ImportError) as away:
        sys.exit(f"query: {no_registry(away)}")
    serve(service.app, settings, name, settings.query_port, service.ready, of_query)
    service.close()
    store.close()


if __name__ == "__main__":
    main()
