"""A TLS endpoint in front of a server that has none, and its certificates."""

import datetime
import ipaddress
import socket
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.tcp_proxy import TcpProxy

SSL_REQUEST = bytes.fromhex("0000000804d2162f")
"""With these bytes a client of PostgreSQL asks for TLS; the server agrees with `S`."""
DAY = datetime.timedelta(days=1)


class Certificates:
    """A certificate authority and a certificate of 127.0.0.1 and names, as files in a folder."""

    def __init__(self, folder: Path, *names: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.authority_file, self.server_file = folder / "ca.pem", folder / "server.pem"
        authority_key = ec.generate_private_key(ec.SECP256R1())
        authority = self._certificate(
            f"authority of {folder.name}", authority_key, None, authority_key
        )
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._certificate("127.0.0.1", key, authority, authority_key, names)
        self.authority_file.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
        self.server_file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )

    @staticmethod
    def _certificate(
        name: str,
        key: ec.EllipticCurvePrivateKey,
        issuer: x509.Certificate | None,
        issuer_key: ec.EllipticCurvePrivateKey,
        names: tuple[str, ...] = (),
    ) -> x509.Certificate:
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer.subject if issuer else subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - DAY)
            .not_valid_after(now + DAY)
            .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), True)
        )
        if issuer is not None:
            address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
            hosts = [address, *map(x509.DNSName, names)]
            builder = builder.add_extension(x509.SubjectAlternativeName(hosts), False)
        return builder.sign(issuer_key, hashes.SHA256())


class TlsProxy(TcpProxy):
    """Ends TLS, and hands the bytes on to a port of this machine.

    With `asked` clients ask for TLS in the way of PostgreSQL; others begin with it.
    """

    def __init__(self, target_port: int, certificates: Certificates, asked: bool = False) -> None:
        super().__init__(target_port)
        self._asked = asked
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificates.server_file)

    def serve(self, client: socket.socket) -> None:
        with client:
            if self._asked:
                if client.recv(len(SSL_REQUEST)) != SSL_REQUEST:
                    return
                client.sendall(b"S")
            try:
                secured = self._context.wrap_socket(client, server_side=True)
            except (ssl.SSLError, OSError):  # a client that does not trust the certificate
                return
            super().serve(secured)
