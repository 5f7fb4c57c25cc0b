"""What the operator's settings say about the sign-in of people."""

from msgspec import Struct

from schemas.mail.mailer import Mailer, open_mailer
from schemas.runtime.service_urls import public_query_url
from schemas.runtime.settings import Settings


class PeopleAccess(Struct, frozen=True):
    """How people sign in beside single sign-on, and how they get links."""

    query_url: str = ""
    """URL of the dashboard, for links."""
    mailer: Mailer | None = None
    """None: links are shown to whoever makes them, who passes them on."""
    password_sign_in: bool = True


def people_access(settings: Settings) -> PeopleAccess:
    """How people sign in by the settings."""
    return PeopleAccess(
        query_url=public_query_url(settings),
        mailer=open_mailer(settings),
        password_sign_in=settings.password_sign_in,
    )
