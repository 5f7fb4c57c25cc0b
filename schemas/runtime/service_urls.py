"""URLs of the two HTTP services, as this machine and as browsers reach them."""

from schemas.runtime.settings import Settings


def local_address(host: str) -> str:
    """The address on this machine of a service that listens on `host`."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)  # noqa: S104


def service_url(host: str, port: int) -> str:
    """URL of a service that listens on `host` and `port`."""
    address = local_address(host)
    return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"


def collector_url(settings: Settings) -> str:
    """URL of the collector on this machine."""
    return service_url(settings.host, settings.collect_port)


def query_service_url(settings: Settings) -> str:
    """URL of the query service on this machine."""
    return service_url(settings.host, settings.query_port)


def public_collector_url(settings: Settings) -> str:
    """URL at which browsers reach the collector: TIDEMARK_COLLECT_URL, or the local one."""
    return (settings.collect_url or collector_url(settings)).rstrip("/")


def public_query_url(settings: Settings) -> str:
    """URL at which browsers reach the query service: TIDEMARK_QUERY_URL, or the local one."""
    return (settings.query_url or query_service_url(settings)).rstrip("/")
