"""Settings that hold addresses are refused when they are loaded, by name and without passwords."""

import pytest

from schemas.runtime.environment import InvalidSetting, load_settings


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("LAKE", "ftp://u:S3CRET@x", "must be a folder, file:///folder or s3://bucket/folder"),
        ("LAKE", "s3://u:S3CRET@b/x", "must be a folder"),
        ("LAKE", "s3://", "must be a folder"),
        ("LAKE", "s3://b/x?secret_access_key=S3CRET", "must be a folder"),
        ("REGISTRY", "mysql://u:S3CRET@h/x", "must be like sqlite:"),
        ("REGISTRY", "registry.db", "must be like sqlite:"),
        ("KAFKA", "host:abc", "must be host:port"),
        ("KAFKA", "host:99999", "must be host:port"),
        ("KAFKA", "one:9092,,two:9092", "must be host:port"),
        ("KAFKA", "u:S3CRET@h:9092", "must be host:port"),
        ("KAFKA", "SASL_SSL://u:S3CRET@h:9092", "must be host:port"),
        ("LIMITS_URL", "redis://u:S3CRET@h:port", "must have a host, and a port"),
        ("LIMITS_URL", "redis://:6379", "must have a host, and a port"),
        ("COLLECT_URL", "https://h:abc", "must have a host, and a port"),
        ("COUNTRY_HEADERS", "a b", "must be names of HTTP headers"),
        ("ENGINE", "trino://u:S3CRET@[x/a.b", "must have a host, and a port"),
        ("ENGINE", "trino://u:S3CRET@x/a.b", "has a password, which needs HTTPS"),
        ("LINK_SCHEMES", "javascript", "'javascript' is not allowed as an app scheme"),
        ("LINK_SCHEMES", "x y", "'x y' is not allowed as an app scheme"),
    ],
)
def test_an_address_that_no_process_can_use_is_refused(name: str, value: str, rule: str) -> None:
    with pytest.raises(InvalidSetting) as raised:
        load_settings({f"TIDEMARK_{name}": value})

    message = str(raised.value)
    assert message.startswith(f"TIDEMARK_{name}=")
    assert rule in message
    assert "S3CRET" not in message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LAKE", "/srv/lake"),
        ("LAKE", "lake of ours"),
        ("LAKE", "file:///srv/lake"),
        ("LAKE", "s3://bucket"),
        ("LAKE", "s3://bucket.example/lake/"),
        ("REGISTRY", "sqlite:////srv/registry.db"),
        ("REGISTRY", "postgres://u:p@h/x"),
        ("REGISTRY", "postgresql+psycopg://u:p@h/x?sslmode=require"),
        ("KAFKA", "one.example:9092, [::1]:9092,three"),
        ("LIMITS_URL", "rediss://u:p@host:6379/0"),
        ("LIMITS_URL", "valkey://host"),
        ("COLLECT_URL", "https://t.shop.example/path"),
        ("COUNTRY_HEADERS", "cf-ipcountry, X-Vercel-IP-Country"),
        ("ENGINE", "trinos://u:p@host:8443/catalog.schema"),
        ("LINK_SCHEMES", "myapp, other-app"),
        ("LAKE", ""),
        ("LINK_SCHEMES", ""),
    ],
)
def test_an_address_that_fits_is_loaded_as_it_is(name: str, value: str) -> None:
    loaded = load_settings({f"TIDEMARK_{name}": value})

    assert getattr(loaded, name.lower()) == value
