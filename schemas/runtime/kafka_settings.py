"""KafkaSettings: how clients reach a Kafka that requires TLS or a login.

Part of `Settings`, which is one struct.
"""

from typing import Annotated, Literal

from msgspec import Meta

from schemas.runtime.location_settings import LocationSettings


class KafkaSettings(LocationSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Access to Kafka. Secrets are in files, which are read when a client connects."""

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
