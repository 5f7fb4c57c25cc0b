"""A broker with listeners that require TLS, a login, or a client certificate."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deploy.local.kafka.broker import Broker, server_properties
from deploy.local.kafka.jars import broker_jars
from tests.installation import free_port
from tests.tls_proxy import Certificates

USER, PASSWORD = "tidemark", "sesame-4711"
LOGIN = "org.apache.kafka.common.security"


class SecuredBroker(Broker):
    """Listeners SASL_SSL and SSL with client certificates, beside the plain one for itself."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, free_port(), free_port())
        self.login_port, self.certificate_port = free_port(), free_port()
        self.folder.mkdir(parents=True)
        self._own, self._clients = Certificates(folder / "own"), Certificates(folder / "clients")
        self.password_file = folder / "password"
        self.password_file.write_text(PASSWORD + "\n")

    def login(self, mechanism: str = "SCRAM-SHA-512", **other: Any) -> dict[str, Any]:
        """Settings of a client that logs in over TLS."""
        return {
            "kafka": f"127.0.0.1:{self.login_port}",
            "kafka_security_protocol": "SASL_SSL",
            "kafka_sasl_mechanism": mechanism,
            "kafka_username": USER,
            "kafka_password_file": str(self.password_file),
            "kafka_ca_file": str(self._own.authority_file),
            **other,
        }

    def client_certificate(self) -> dict[str, Any]:
        """Settings of a client with a certificate."""
        return {
            "kafka": f"127.0.0.1:{self.certificate_port}",
            "kafka_security_protocol": "SSL",
            "kafka_ca_file": str(self._own.authority_file),
            "kafka_certificate_file": str(self._clients.server_file),
        }

    def prepare(self) -> list[str]:
        jars = broker_jars()
        properties = self.folder / "server.properties"
        text = server_properties(self.folder, self.port, self.controller_port)
        listeners = (
            f",SASL_SSL://127.0.0.1:{self.login_port},SSL://127.0.0.1:{self.certificate_port}"
        )
        extended = {"listeners", "advertised.listeners"}
        lines = [
            f"{line}{listeners if line.partition('=')[0] in extended else ''}"
            for line in text.splitlines()
        ]
        properties.write_text("\n".join([*lines, *self._security()]))
        if not (self.folder / "logs" / "meta.properties").exists():
            self._format(jars, properties)
        return self._java(jars, "kafka.Kafka", str(properties))

    def _java(self, jars: Sequence[Path], main: str, *arguments: str) -> list[str]:
        scram = [
            f"--add-scram={name}=[name={USER},password={PASSWORD}]"
            for name in ("SCRAM-SHA-256", "SCRAM-SHA-512")
        ]
        return super()._java(jars, main, *arguments, *(scram if "format" in arguments else ()))

    def _security(self) -> list[str]:
        login = "listener.name.sasl_ssl"
        return [
            "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,"
            "SASL_SSL:SASL_SSL,SSL:SSL",
            "ssl.keystore.type=PEM",
            f"ssl.keystore.location={self._own.server_file}",
            "ssl.truststore.type=PEM",
            f"ssl.truststore.location={self._clients.authority_file}",
            "listener.name.ssl.ssl.client.auth=required",
            f"{login}.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
            f"{login}.plain.sasl.jaas.config={LOGIN}.plain.PlainLoginModule required "
            f'user_{USER}="{PASSWORD}";',
            f"{login}.scram-sha-256.sasl.jaas.config={LOGIN}.scram.ScramLoginModule required;",
            f"{login}.scram-sha-512.sasl.jaas.config={LOGIN}.scram.ScramLoginModule required;",
        ]
