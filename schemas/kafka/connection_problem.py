"""Why no client connects to Kafka, and what to do: aiokafka only says that none did."""

import ssl

from aiokafka.conn import collect_hosts, create_conn
from aiokafka.errors import (
    AuthenticationFailedError,
    IllegalSaslStateError,
    KafkaConnectionError,
    KafkaError,
    UnsupportedSaslMechanismError,
)

from schemas.runtime.kafka_access import VARIABLE, InvalidKafkaAccess, client_arguments
from schemas.runtime.settings import Settings

ADDRESS = "TIDEMARK_KAFKA"
REQUEST_TIMEOUT_MS = 2_000
SASL_AUTHENTICATION_FAILED = 58


async def explain(settings: Settings, error: BaseException) -> str:
    """The problem of the first broker that can be reached by none of our clients, else `error`."""
    unanswered = isinstance(error, KafkaConnectionError | TimeoutError)
    if unanswered and (problem := await _problem(settings)):
        return problem
    return str(error) or f"no response: check {ADDRESS}"


async def _problem(settings: Settings) -> str | None:
    """Why the brokers refuse our TLS or login; None when one accepts."""
    try:
        arguments = client_arguments(settings)
    except InvalidKafkaAccess as error:
        return str(error)
    problems = []
    for host, port, _family in collect_hosts(arguments.pop("bootstrap_servers")):
        try:
            connection = await create_conn(
                host, port, request_timeout_ms=REQUEST_TIMEOUT_MS, **arguments
            )
        except (KafkaError, OSError, TimeoutError) as error:
            problems.append(f"{host}:{port} {_meaning(settings, error)}")
        else:
            connection.close()
            return None
    return "; ".join(dict.fromkeys(problems)) or None


def _meaning(settings: Settings, error: Exception) -> str:
    protocol = settings.kafka_security_protocol
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"has a certificate that is not accepted ({error.verify_message}): set "
            f"{VARIABLE}CA_FILE to the authority that signed it, and TIDEMARK_KAFKA to a name "
            "in it"
        )
    if isinstance(error, UnsupportedSaslMechanismError):
        return (
            f"does not offer the login {settings.kafka_sasl_mechanism}: set "
            f"{VARIABLE}SASL_MECHANISM to one that it has (sasl.enabled.mechanisms)"
        )
    if _is_rejected(error):
        return (
            f"rejects the login of {settings.kafka_username!r} "
            f"({settings.kafka_sasl_mechanism}): correct {VARIABLE}USERNAME or "
            f"{VARIABLE}PASSWORD_FILE"
        )
    if isinstance(error, ConnectionRefusedError):
        return f"refuses connections: nothing listens there; start it, or correct {ADDRESS}"
    if isinstance(error, TimeoutError):
        return f"does not respond: check {ADDRESS}, and whether it is overloaded"
    if isinstance(error, ssl.SSLError | KafkaError | ConnectionResetError):
        return (
            f"does not speak {protocol}, or wants a client certificate ({_reason(error)}): "
            f"set {VARIABLE}SECURITY_PROTOCOL to the protocol of that listener, "
            f"{VARIABLE}CERTIFICATE_FILE to the client certificate if it wants one"
        )
    return f"cannot be reached: {_reason(error)}; correct {ADDRESS}"


def _is_rejected(error: Exception) -> bool:
    errno = getattr(error, "errno", None)
    rejected = isinstance(error, AuthenticationFailedError | IllegalSaslStateError)
    return rejected or errno == SASL_AUTHENTICATION_FAILED


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or "no response"
