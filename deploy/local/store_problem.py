"""What is wrong with the object store, by the text of its error, and which variable to correct."""

import re

from msgspec import Struct

from schemas.lake.object_store import UNREADABLE, StoreUnreachable
from schemas.runtime.environment import ENDPOINT_VARIABLES

LAKE = "TIDEMARK_LAKE"
ACCESS_KEY, SECRET = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"
ENDPOINT = " or ".join(ENDPOINT_VARIABLES)
METADATA_ADDRESS = "169.254.169.254"
"""Where a client without credentials asks for those of the machine."""


class _Cause(Struct, frozen=True):
    """What the text of an error says, and what to do."""

    signs: tuple[str, ...]
    problem: str
    remedy: str


_CAUSES = (
    _Cause(
        (METADATA_ADDRESS,),
        "no credentials are set, and the machine has none",
        f"set {ACCESS_KEY} and {SECRET}, or give the machine a role",
    ),
    _Cause(("SignatureDoesNotMatch",), "it rejects the secret key", f"correct {SECRET}"),
    _Cause(("InvalidAccessKeyId",), "it does not know the access key", f"correct {ACCESS_KEY}"),
    _Cause(
        ("ExpiredToken",),
        "the credentials have expired",
        f"renew {ACCESS_KEY} and AWS_SESSION_TOKEN",
    ),
    _Cause(("NoSuchBucket",), "it has no such bucket", f"create the bucket, or correct {LAKE}"),
    _Cause(("AuthorizationHeaderMalformed",), "it is in another region", "correct AWS_REGION"),
    _Cause(("PermanentRedirect",), "it is in another region", "correct AWS_REGION"),
    _Cause(
        ("403 Forbidden",),
        "it refuses access",
        f"let {ACCESS_KEY} list, read, write and delete objects of the bucket",
    ),
    _Cause(
        ("Connection refused",),
        "it refuses connections: nothing listens there",
        f"start it, or correct {ENDPOINT}",
    ),
    _Cause(
        ("dns error",),
        "its host name is not known",
        f"correct {ENDPOINT}, or AWS_REGION, which is part of the name at AWS",
    ),
    _Cause(
        ("TimedOut", "timed out"),
        "it does not respond in time",
        f"check whether it is overloaded, and the network to {ENDPOINT}",
    ),
)
_OTHER = f"check it, and {LAKE}, {ENDPOINT}, AWS_REGION, {ACCESS_KEY} and {SECRET}"
_VARYING = re.compile(r" for path \S+|Error performing [A-Z]+ \S+ in \S+ - ")
"""What differs between tables that cannot be read for the same reason."""


def explain(error: StoreUnreachable) -> tuple[str, str]:
    """What is wrong and what to do, by the whole text of the store's error."""
    text = f"{error} {error.__context__ or ''}"
    for cause in _CAUSES:
        if any(sign in text for sign in cause.signs):
            return cause.problem, cause.remedy
    return _VARYING.sub("", str(error)).removeprefix(UNREADABLE), _OTHER
