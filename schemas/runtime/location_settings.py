"""LocationSettings: where data lies, and the addresses on which processes listen.

Part of `Settings`, which is one struct.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

Port = Annotated[int, Meta(ge=1, le=65_535)]


class LocationSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Locations of data, and addresses."""

    # Locations
    data_dir: Annotated[
        str, Meta(min_length=1, description="data folder: broker, lake, registry, logs")
    ] = ".tidemark"
    data_access: Annotated[
        Literal["owner", "group"],
        Meta(description="permissions of files in the data folder: owner only, or owner and group"),
    ] = "owner"
    lake: Annotated[
        str, Meta(description="URL or folder of the tables; empty: `lake` in the data folder")
    ] = ""
    registry: Annotated[
        str,
        Meta(description="database URL of the registry; empty: SQLite in the data folder"),
    ] = ""
    limits_url: Annotated[
        str,
        Meta(
            examples=["redis://host:6379", "rediss://host:6379"],
            pattern=r"^((redis|rediss|valkey|valkeys)://.+)?$",
            description="URL of the Valkey or Redis server that shares rate limits and `/debug` "
            "among machines (`rediss://` with TLS); empty: shared by the processes of this machine",
        ),
    ] = ""
    limits_password_file: Annotated[
        str, Meta(description="file with the password of that server; empty: as in the URL")
    ] = ""
    limits_ca_file: Annotated[
        str,
        Meta(
            description="certificates (PEM) of the authorities that sign that of the server; "
            "empty: those of the operating system"
        ),
    ] = ""
    geo: Annotated[
        str,
        Meta(
            description="geo database files (.mmdb, comma-separated); empty: the "
            "one installed by `make setup`"
        ),
    ] = ""

    # Addresses
    host: Annotated[str, Meta(description="address that both HTTP services listen on")] = (
        "127.0.0.1"
    )
    collect_url: Annotated[
        str,
        Meta(
            examples=["https://t.shop.example", "a URL that browsers reach"],
            pattern=r"^(https?://[^\s/]+(/\S*)?)?$",
            description="public URL of the collector, for script tags and short links; empty: its "
            "local address",
        ),
    ] = ""
    query_url: Annotated[
        str,
        Meta(
            examples=["https://stats.shop.example", "a URL that browsers reach"],
            pattern=r"^(https?://[^\s/]+(/\S*)?)?$",
            description="public URL of query service and dashboard, for sign-in links; with https "
            "its cookies are always `Secure`; empty: its local address",
        ),
    ] = ""
    collect_port: Annotated[Port, Meta(description="port of the collector")] = 4000
    query_port: Annotated[Port, Meta(description="port of the query service")] = 4001
    broker_port: Annotated[Port, Meta(description="port of the broker that `up` starts")] = 4092
    broker_controller_port: Annotated[
        Port, Meta(description="port of that broker's controller")
    ] = 4093
    kafka: Annotated[
        str, Meta(description="host:port,… of an existing Kafka; empty: `up` starts its own")
    ] = ""
    trusted_proxies: Annotated[
        str,
        Meta(description="trusted proxies (CIDR, comma-separated) whose X-Forwarded-For is used"),
    ] = ""
    client_address_header: Annotated[
        str,
        Meta(
            examples=["CF-Connecting-IP"],
            pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]*$",
            description="header in which trusted proxies send the client's address alone "
            "(`CF-Connecting-IP`, `True-Client-IP`); empty: `X-Forwarded-For`",
        ),
    ] = ""
    country_headers: Annotated[
        str,
        Meta(description="headers (comma-separated) in which trusted proxies send the country"),
    ] = "cf-ipcountry"

    connections: Annotated[int, Meta(ge=16, description="maximum connections per process")] = 8_192
    address_connections: Annotated[
        int,
        Meta(
            ge=1, description="maximum connections per client address; trusted proxies are exempt"
        ),
    ] = 1_024
    stalled_seconds: Annotated[
        float,
        Meta(
            gt=0,
            le=600,
            description="seconds a client may read nothing of its response (write timeout)",
        ),
    ] = 30.0

    metrics_host: Annotated[
        str, Meta(description="address on which each process serves /metrics, /livez and /readyz")
    ] = "127.0.0.1"
    metrics_port: Annotated[
        int,
        Meta(
            ge=0,
            le=65_000,
            description="port of /metrics of a process; `up` counts up from it for each process; "
            "0: none",
        ),
    ] = 4100
    traces: Annotated[
        str,
        Meta(
            examples=["http://127.0.0.1:4318"],
            description="receiver of traces (OpenTelemetry, OTLP over HTTP); empty: none",
        ),
    ] = ""
    traces_share: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="share of the requests without a `traceparent` header that are recorded",
        ),
    ] = 1.0
    drain_seconds: Annotated[
        float,
        Meta(ge=0, le=600, description="seconds for which a stopping HTTP service still serves"),
    ] = 1.0
