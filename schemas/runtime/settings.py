"""Settings: one frozen struct, read once from TIDEMARK_* environment variables.

A field is the environment variable `TIDEMARK_` + its name in capitals. A `__main__` loads the
settings once; everything below is handed the values.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

GEO_FOLDER = Path(sys.prefix) / "share" / "tidemark" / "geo"
GEO_FILES = ("places.mmdb", "places-ipv6.mmdb")
"""Files of the geo database that `make setup` fetches: some databases have a second for IPv6."""
Port = Annotated[int, Meta(ge=1, le=65_535)]
ProcessCount = Annotated[int, Meta(ge=1, le=64)]


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings."""

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

    # Access to Kafka. Secrets are in files, which are read when a client connects.
    kafka_security_protocol: Annotated[
        Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"],
        Meta(description="protocol of Kafka's listener; SSL is TLS, SASL a login"),
    ] = "PLAINTEXT"
    kafka_sasl_mechanism: Annotated[
        Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"],
        Meta(description="mechanism of the login to Kafka"),
    ] = "SCRAM-SHA-512"
    kafka_username: Annotated[str, Meta(description="user name of the login to Kafka")] = ""
    kafka_password_file: Annotated[
        str, Meta(description="file with the password of the login to Kafka")
    ] = ""
    kafka_ca_file: Annotated[
        str,
        Meta(
            description="certificates (PEM) of the authorities that sign those of the brokers; "
            "empty: those of the operating system"
        ),
    ] = ""
    kafka_certificate_file: Annotated[
        str, Meta(description="client certificate (PEM), if the brokers require one")
    ] = ""
    kafka_key_file: Annotated[
        str,
        Meta(
            description="private key (PEM, not encrypted) of the client certificate; "
            "empty: in the file of the certificate"
        ),
    ] = ""

    # Numbers of processes and partitions
    collectors: Annotated[ProcessCount, Meta(description="collector processes")] = 1
    workers: Annotated[ProcessCount, Meta(description="stream worker processes")] = 1
    queries: Annotated[ProcessCount, Meta(description="query service processes")] = 1
    partitions: Annotated[
        int, Meta(ge=1, le=1024, description="partitions of each topic, when it is created")
    ] = 8
    replication: Annotated[
        int, Meta(ge=1, le=9, description="replication factor of each topic, when it is created")
    ] = 1
    retention_hours: Annotated[
        int, Meta(ge=1, description="hours of retention of each topic, when it is created")
    ] = 72
    topic_prefix: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z0-9._-]*$",
            examples=["shop.", "a name of letters, digits, '.', '_' and '-'"],
            description="prefix of every topic name",
        ),
    ] = ""

    # The collector
    produce_seconds: Annotated[
        float,
        Meta(
            gt=0,
            le=60,
            description="seconds that Kafka has to acknowledge a request; then it gets 503",
        ),
    ] = 3.0
    chunk_bytes: Annotated[
        int,
        Meta(
            ge=1024,
            le=3_145_728,
            description="bytes after which a chunk (one Kafka message) takes no more requests",
        ),
    ] = 262_144
    in_flight_bytes: Annotated[
        int, Meta(ge=2_097_152, description="maximum bytes queued for Kafka per collector")
    ] = 67_108_864
    disk_floor_mb: Annotated[
        int,
        Meta(
            ge=0,
            description="minimum free MB on the disk of the data folder: below it the collector "
            "answers 503; 0: 5 % of the disk, between 16 and 512; not "
            "applied with an external Kafka",
        ),
    ] = 0
    upload_mb: Annotated[
        int,
        Meta(ge=1, description="maximum size of a file that is uploaded for an import, MB"),
    ] = 2048
    spool_mb: Annotated[
        int,
        Meta(
            ge=0,
            description="requests that a collector keeps on disk while Kafka is away, MB; beyond "
            "it answers 503; 0: none, it answers 503 at once",
        ),
    ] = 0
    spool_hours: Annotated[
        float,
        Meta(
            gt=0,
            le=72,
            description="hours for which the oldest of them may wait; then new ones get 503",
        ),
    ] = 24.0
    link_schemes: Annotated[
        str,
        Meta(
            pattern=r"^[a-z0-9+., -]*$",
            examples=["myapp, other-app"],
            description="URL schemes of apps (comma-separated) allowed as "
            "link targets, besides http(s)",
        ),
    ] = ""

    # The stream
    consumer_group: Annotated[
        str, Meta(min_length=1, description="Kafka consumer group of the workers")
    ] = "tidemark-stream"
    ingest_epoch: Annotated[
        int,
        Meta(
            ge=1,
            description="topic epoch: increment it to read another Kafka cluster from the start",
        ),
    ] = 1
    batch_rows: Annotated[
        int, Meta(ge=1, le=1_000_000, description="rows after which a batch is written")
    ] = 20_000
    batch_seconds: Annotated[
        float, Meta(gt=0, le=60, description="seconds after which a batch is written")
    ] = 1.0
    batch_quiet_seconds: Annotated[
        float,
        Meta(
            ge=0,
            le=30,
            description="seconds after which a small batch is written; 0: batch_seconds",
        ),
    ] = 15.0
    session_seconds: Annotated[
        # Kafka itself refuses less than 6 (group.min.session.timeout.ms).
        int, Meta(ge=6, le=300, description="Kafka session timeout of workers, seconds")
    ] = 10
    rest_seconds: Annotated[
        float,
        Meta(
            gt=0,
            description="idle seconds after which the backfill worker "
            "becomes a small standby process",
        ),
    ] = 60.0
    ids_mb: Annotated[
        int,
        Meta(
            ge=16,
            description="memory of a worker's event id index, MB; beyond "
            "it the index spills to disk",
        ),
    ] = 1024
    small_parts: Annotated[
        int,
        Meta(
            ge=2,
            le=1000,
            description="number of small data files of a day that triggers compaction",
        ),
    ] = 30
    compact_seconds: Annotated[
        float, Meta(gt=0, le=3600, description="interval of maintenance, seconds")
    ] = 10.0
    min_keep_days: Annotated[
        int,
        Meta(
            ge=0,
            le=36_500,
            description="fewest days to keep that a website or organization may set; 0: no bound",
        ),
    ] = 0
    max_keep_days: Annotated[
        int,
        Meta(
            ge=0,
            le=36_500,
            description="most days for which rows are kept, also where nothing is set; 0: no bound",
        ),
    ] = 0
    purge_days: Annotated[
        int,
        Meta(
            ge=0,
            le=3_650,
            description="days in which a deleted website or organization can be restored; then "
            "its rows are purged",
        ),
    ] = 30
    scrub_mb: Annotated[
        float,
        Meta(ge=0, description="rate of background checksum verification, MB/s; 0: off"),
    ] = 4.0
    tombstone_minutes: Annotated[
        int,
        Meta(
            ge=0,
            description="minutes before vacuum deletes replaced data files; "
            "0: 15 on a disk, 1440 in an object store",
        ),
    ] = 0
    log_minutes: Annotated[
        int,
        Meta(
            ge=0,
            description="minutes for which the log of a table has old versions; "
            "0: 60 on a disk, 10080 in an object store",
        ),
    ] = 0

    backup_target: Annotated[
        str,
        Meta(
            examples=["/mnt/backups", "s3://bucket/backups"],
            description="folder or `s3://` URL to which the keeper backs up tables and registry; "
            "empty: no scheduled backups",
        ),
    ] = ""
    backup_hours: Annotated[
        float, Meta(ge=0, le=8_760, description="interval of scheduled backups, hours; 0: none")
    ] = 24.0
    backup_keep_days: Annotated[
        float,
        Meta(
            ge=0,
            description="days for which scheduled backups keep old ones, and at least the last 3; "
            "0: for ever",
        ),
    ] = 30.0
    backup_mb: Annotated[
        float, Meta(ge=0, description="rate at which scheduled backups copy, MB/s; 0: unlimited")
    ] = 0.0

    # The query service
    engine: Annotated[
        str,
        Meta(
            examples=["duckdb", "trino://user@host:8080/catalog.schema"],
            pattern=r"^(duckdb|trinos?://[^@/]+@[^@/]+/[^./]+\.[^./]+)$",
            description="engine of large queries beside DuckDB: "
            "`trino://user@host:8080/catalog.schema`, `trinos://` for HTTPS",
        ),
    ] = "duckdb"
    engine_mb: Annotated[
        int,
        Meta(
            ge=0,
            description="MB of data files from which the distributed engine answers a query; "
            "0: all queries",
        ),
    ] = 4096
    query_seconds: Annotated[float, Meta(gt=0, le=600, description="query timeout, seconds")] = 10.0
    answer_bytes: Annotated[
        int,
        Meta(ge=65_536, le=268_435_456, description="maximum bytes of a query response"),
    ] = 16_777_216
    lake_cache_mb: Annotated[
        int,
        Meta(
            ge=64,
            description="local cache of data files when the lake is in an object store, MB; the "
            "query services of a machine share it",
        ),
    ] = 4096
    query_memory_mb: Annotated[
        int, Meta(ge=64, description="memory of each of the two query pools, MB")
    ] = 512
    query_threads: Annotated[
        int, Meta(ge=1, le=256, description="threads of each of the two query pools")
    ] = 2
    prepared_mb: Annotated[
        int,
        Meta(
            ge=0,
            description="prepared results on disk, MB; the query services of a machine share "
            "them; 0: none",
        ),
    ] = 2048
    prepared_memory_mb: Annotated[
        int, Meta(ge=1, description="prepared results in the memory of a query service, MB")
    ] = 256
    tee_requests: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000_000,
            description="copies of requests for the servers of other products that a collector "
            "keeps waiting; further ones are lost",
        ),
    ] = 1_000
    tee_mb: Annotated[int, Meta(ge=1, le=4096, description="size of these copies, MB")] = 8
    tee_private: Annotated[
        bool,
        Meta(description="whether copies may be sent to addresses of private networks"),
    ] = False
    registry_stale_hours: Annotated[
        float,
        Meta(
            ge=0,
            le=8760,
            description="hours without registry access after which API keys "
            "can no longer read; 0: never",
        ),
    ] = 72.0

    session_hours: Annotated[
        float,
        Meta(gt=0, le=720, description="hours after which a sign-in of a browser ends"),
    ] = 12.0

    # Mail
    smtp_url: Annotated[
        str,
        Meta(
            examples=["smtp://user@mail.example:587", "smtps://user@mail.example:465"],
            pattern=r"^(smtps?://[^\s/?#]+)?$",
            description="server that takes mail for people: `smtp://user@host:587` with STARTTLS, "
            "`smtps://` with TLS from the start; empty: no mail is sent",
        ),
    ] = ""
    smtp_password_file: Annotated[
        str, Meta(description="file with the password of that server; empty: as in the URL")
    ] = ""
    smtp_ca_file: Annotated[
        str,
        Meta(
            description="certificates (PEM) of the authorities that sign that of the server; "
            "empty: those of the operating system, and no TLS to this machine by `smtp://`"
        ),
    ] = ""
    smtp_plain: Annotated[
        bool,
        Meta(
            description="whether `smtp://` has no TLS, in a network that you trust; then no login"
        ),
    ] = False
    mail_from: Annotated[
        str,
        Meta(description="sender of mail (`Tidemark <stats@shop.example>`); needed with smtp_url"),
    ] = ""

    # Channels of notifications
    webhook_networks: Annotated[
        str,
        Meta(
            examples=["10.1.0.0/16, 127.0.0.1"],
            description="private networks (CIDR, comma-separated) that webhooks may reach, also by "
            "`http://`; empty: public addresses only, by `https://`",
        ),
    ] = ""

    # People who sign in with an identity provider, or behind a proxy that signs them in
    password_sign_in: Annotated[
        bool, Meta(description="whether people may sign in with a password; API keys always may")
    ] = True
    oidc_issuer: Annotated[
        str,
        Meta(
            examples=["https://accounts.google.com", "https://id.shop.example/realms/staff"],
            pattern=r"^(https?://[^\s/]+(/\S*)?)?$",
            description="issuer of the identity provider for single sign-on (OpenID Connect), "
            "without `/.well-known/…`; empty: none",
        ),
    ] = ""
    oidc_client_id: Annotated[
        str, Meta(description="client id that the identity provider gave to this installation")
    ] = ""
    oidc_client_secret_file: Annotated[str, Meta(description="file with the client secret")] = ""
    oidc_name: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=60,
            description="name of the identity provider on the button of the sign-in page",
        ),
    ] = "single sign-on"
    oidc_scopes: Annotated[
        str, Meta(description="scopes to request, separated by spaces; `openid` is one of them")
    ] = "openid email profile"
    oidc_trusts_email: Annotated[
        bool,
        Meta(
            description="accept e-mail addresses that the provider does not mark as verified "
            "(Entra sends no `email_verified`)"
        ),
    ] = False
    oidc_groups_claim: Annotated[
        str,
        Meta(
            min_length=1,
            description="claim with the groups of a person; dots reach into objects, as in "
            "`realm_access.roles`",
        ),
    ] = "groups"
    oidc_group_roles: Annotated[
        str,
        Meta(
            description="roles of groups (`group=role`, comma-separated; owner, admin, analyst, "
            "viewer); of several the highest counts"
        ),
    ] = ""
    oidc_organization: Annotated[
        str, Meta(description="id of the organization that people join who sign up")
    ] = ""
    oidc_sign_up_domains: Annotated[
        str,
        Meta(
            description="e-mail domains (comma-separated) whose people may sign up without an "
            "invitation, as viewers unless a group says more"
        ),
    ] = ""
    proxy_email_header: Annotated[
        str,
        Meta(
            examples=["X-Forwarded-Email"],
            pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]*$",
            description="header in which a proxy that signs people in sends their e-mail address; "
            "empty: none",
        ),
    ] = ""
    proxy_networks: Annotated[
        str,
        Meta(
            description="addresses (CIDR, comma-separated) of that proxy as it connects; from "
            "others the header has no effect"
        ),
    ] = ""

    # Everything else
    demo: Annotated[
        bool, Meta(description="first start: create the demo website and send it a week of traffic")
    ] = True
    hung_seconds: Annotated[
        float,
        Meta(
            ge=0,
            le=3600,
            description="seconds without a heartbeat after which `up` restarts a process; 0: never",
        ),
    ] = 30.0
    log_mb: Annotated[
        int,
        Meta(ge=1, description="size at which `up` rotates a log, MB; one old file is kept"),
    ] = 16
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Annotated[
        Literal["text", "json"],
        Meta(description="log lines: text with key=value fields, or one JSON object each"),
    ] = "text"

    @property
    def data(self) -> Path:
        """The data folder."""
        return Path(self.data_dir).absolute()

    @property
    def lake_url(self) -> str:
        """Root of all tables."""
        return self.lake or str(self.data / "lake")

    @property
    def registry_url(self) -> str:
        """SQLAlchemy URL of the registry."""
        return self.registry or f"sqlite:///{self.data / 'registry.db'}"

    @property
    def geo_files(self) -> Sequence[Path]:
        """The .mmdb files, in the order of lookup."""
        named = [Path(part.strip()) for part in self.geo.split(",") if part.strip()]
        return named or [GEO_FOLDER / name for name in GEO_FILES]

    @property
    def brokers(self) -> str:
        """Bootstrap servers of Kafka."""
        return self.kafka or f"127.0.0.1:{self.broker_port}"

    def topic(self, name: str) -> str:
        """The topic's name in Kafka."""
        return self.topic_prefix + name
