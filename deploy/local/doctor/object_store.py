"""Check of the object store: it answers to our address and credentials, and tables can be read.

The checks of what it holds are not run without it: each would find the same.
"""

from collections.abc import Iterator

from msgspec import Struct

from deploy.local.doctor.check import STORE, Check, CheckContext, CheckSkipped
from schemas.lake.object_store import (
    BRIEF,
    ObjectFolder,
    StoreUnreachable,
    is_object_store,
    limit_time,
)
from schemas.runtime.environment import ENDPOINT_VARIABLES
from schemas.runtime.finding import Finding
from schemas.tables import EVENTS

LAKE = "TIDEMARK_LAKE"
ACCESS_KEY, SECRET = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"
ENDPOINT = " or ".join(ENDPOINT_VARIABLES)
METADATA_ADDRESS = "169.254.169.254"
"""Where a client without credentials asks for those of the machine."""


class _Cause(Struct, frozen=True):
    """What the text of an error says, and what to do."""

    sign: str
    problem: str
    remedy: str


_CAUSES = (
    _Cause(
        METADATA_ADDRESS,
        "no credentials are set, and the machine has none",
        f"set {ACCESS_KEY} and {SECRET}, or give the machine a role",
    ),
    _Cause("SignatureDoesNotMatch", "it rejects the secret key", f"correct {SECRET}"),
    _Cause("InvalidAccessKeyId", "it does not know the access key", f"correct {ACCESS_KEY}"),
    _Cause(
        "ExpiredToken", "the credentials have expired", f"renew {ACCESS_KEY} and AWS_SESSION_TOKEN"
    ),
    _Cause("NoSuchBucket", "it has no such bucket", f"create the bucket, or correct {LAKE}"),
    _Cause("AuthorizationHeaderMalformed", "it is in another region", "correct AWS_REGION"),
    _Cause("PermanentRedirect", "it is in another region", "correct AWS_REGION"),
    _Cause(
        "403 Forbidden",
        "it refuses access",
        f"let {ACCESS_KEY} list, read, write and delete objects of the bucket",
    ),
    _Cause(
        "Connection refused",
        "it refuses connections: nothing listens there",
        f"start it, or correct {ENDPOINT}",
    ),
    _Cause(
        "dns error",
        "its host name is not known",
        f"correct {ENDPOINT}, or AWS_REGION, which is part of the name at AWS",
    ),
    _Cause(
        "TimedOut",
        "it does not respond in time",
        f"check whether it is overloaded, and the network to {ENDPOINT}",
    ),
)
_OTHER = f"check it, and {LAKE}, {ENDPOINT}, AWS_REGION, {ACCESS_KEY} and {SECRET}"


def find_unreadable_store(scope: CheckContext) -> Iterator[Finding]:
    """That the object store does not answer, or rejects what the services send; within seconds."""
    url = scope.settings.lake_url
    if not is_object_store(url):
        raise CheckSkipped("the lake is not in an object store")
    try:
        with limit_time(BRIEF):
            _read_some(url)
    except StoreUnreachable as error:
        problem, remedy = explain(error)
        yield Finding(
            subject=url,
            problem=f"the object store cannot be read: {problem}",
            meaning="Workers store nothing, and queries fail; events are accepted and stay in "
            "Kafka. The checks of what it holds were not run.",
            remedy=remedy,
        )


def explain(error: StoreUnreachable) -> tuple[str, str]:
    """What is wrong and what to do, by the whole text of the store's error."""
    text = f"{error} {error.__context__ or ''}"
    for cause in _CAUSES:
        if cause.sign in text:
            return cause.problem, cause.remedy
    return str(error), _OTHER


def _read_some(url: str) -> None:
    """List the log of a table, and read of its newest entry."""
    log, store = f"{EVENTS.name}/_delta_log", ObjectFolder(url)
    if names := store.names(log):
        store.read_range(f"{log}/{names[-1]}", 0, 1)


OBJECT_STORE_CHECK = Check(
    STORE, "it answers, and what is in it can be read", find_unreadable_store
)
