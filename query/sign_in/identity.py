"""Identity: who signs in, as an identity provider or a proxy says; and what may come of it."""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Literal

from msgspec import Struct

MAX_EMAIL_LENGTH = 254
_EMAIL = re.compile(r"[^\s@,;<>\"\x00-\x1f\x7f]+@[^\s@,;<>\"\x00-\x1f\x7f]+")


class Identity(Struct, frozen=True):
    """A person, whose e-mail address somebody vouches for."""

    email: str
    """In lower case."""
    name: str
    groups: Sequence[str]
    way: Literal["oidc", "proxy"]


class Problem(StrEnum):
    """Why nobody was signed in; the sign-in page has a text for each."""

    REFUSED = "oidc_refused"
    """The person cancelled, or the provider refused."""
    EXPIRED = "oidc_expired"
    """Not begun in this browser, begun too long ago, or finished already."""
    NO_ACCESS = "oidc_no_access"
    """The person is no member, and may not sign up."""
    UNVERIFIED = "oidc_unverified"
    """The provider sent no e-mail address, or one that it has not verified."""
    UNAVAILABLE = "oidc_unavailable"
    """The provider does not answer, or not as it must."""


class SignInProblem(Exception):
    """Nobody was signed in, for that reason."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem


def email_address(text: str) -> str | None:
    """The e-mail address in lower case; None when the text is not one address alone.

    ASCII only: some other letters, such as the Kelvin sign, become ASCII ones in lower case, and
    the address that of somebody else.
    """
    address = text.strip(" ")
    fits = address.isascii() and len(address) <= MAX_EMAIL_LENGTH and _EMAIL.fullmatch(address)
    return address.lower() if fits else None
