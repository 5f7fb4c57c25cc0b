"""SignIns: verifies and issues the tokens of sign-ins, with what all query processes share."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress

from starlette.requests import Request

from query.sign_in.same_origin import require_same_origin
from query.sign_in.session_cookie import session_cookies
from schemas.errors import Unauthorized, Unavailable
from schemas.registry import (
    DatabaseError,
    Key,
    Member,
    RegistrySignIns,
    SignInState,
    Snapshot,
    first_line,
)
from schemas.registry.people import key_of_person, person_key
from schemas.registry.sign_ins import (
    BrowserSession,
    Way,
    member_of_subject,
    subject_of,
    way_of_subject,
)
from schemas.registry.signed_tokens import SignedToken, TokenKind, new_token, sign, verify
from schemas.runtime.clock import Clock

log = logging.getLogger(__name__)

REFRESH_SECONDS = 1.0
SEEN_MS = 60_000
"""How often the last use of sessions is written."""
HOUR_MS = 3_600_000
ENDED = "The sign-in is not valid or has ended; sign in again"


class SignIns:
    """Sign-ins of browsers. A sign-in that ends in one process ends in all within a second."""

    def __init__(self, shared: RegistrySignIns, clock: Clock, hours: float) -> None:
        self._shared = shared
        self._clock = clock
        self._lifetime_ms = int(hours * HOUR_MS)
        self._state: SignInState | None = None
        self._seen: dict[str, int] = {}
        """Last use of sessions of people by their ids, as far as it is not written."""
        self._seen_written_at = 0
        self._refresh_quietly()

    async def run(self) -> None:
        """Keep the state fresh, and write when sessions were used."""
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            await asyncio.to_thread(self._refresh_quietly)
            if self._seen and self._clock() - self._seen_written_at >= SEEN_MS:
                seen, self._seen = self._seen, {}
                self._seen_written_at = self._clock()
                await asyncio.to_thread(self._write_seen, seen)

    def refresh(self) -> None:
        """Read the shared state; DatabaseError."""
        self._state = self._shared.read(self._clock())

    def find(self, text: str, kind: TokenKind) -> SignedToken | None:
        """The token, if it is authentic and has not ended."""
        state = self._current()
        token = verify(text, kind, state.secret, self._clock())
        return None if token is None or token.id in state.ended else token

    def issue(self, kind: TokenKind, subject: str, ends_at: int) -> str:
        """The text of a new token."""
        return sign(new_token(kind, subject, ends_at), self._current().secret)

    def sign(self, token: SignedToken) -> str:
        """The text of a token."""
        return sign(token, self._current().secret)

    def end(self, token: SignedToken) -> bool:
        """End a token for all processes; False if it has ended already. DatabaseError."""
        first = self._shared.end(token.id, token.ends_at, self._clock())
        self.refresh()
        return first

    def session_end(self, key: Key) -> int:
        """When a sign-in with this key that begins now ends."""
        ends_at = self._clock() + self._lifetime_ms
        return ends_at if key.expires_at is None else min(ends_at, key.expires_at)

    def session(self, request: Request) -> SignedToken | None:
        """The sign-in that the cookie names; None without a cookie, Unauthorized for a bad one.

        Cookies that are not ours, or have ended, do not matter beside one that is valid.
        """
        if not session_cookies(request):
            return None
        tokens = self.sessions(request)
        if len(tokens) != 1:
            raise Unauthorized(ENDED)
        return tokens[0]

    def sessions(self, request: Request) -> Sequence[SignedToken]:
        """The sign-ins of all session cookies that have not ended; signing out ends each."""
        found = (self.find(text, TokenKind.SESSION) for text in session_cookies(request))
        return [token for token in found if token is not None]

    def key_of_cookie(self, request: Request, registry: Snapshot) -> Key | None:
        """The key of the sign-in; Unauthorized when either has ended, Forbidden from elsewhere."""
        token = self.session(request)
        if token is None:
            return None
        require_same_origin(request)
        return self.key_of(token, registry)

    def key_of(self, token: SignedToken, registry: Snapshot) -> Key:
        """The active key that a token names, or the rights of the person; Unauthorized."""
        if (member_id := member_of_subject(token.subject)) is not None:
            rights = person_key(registry, member_id, way_of_subject(token.subject))
            if rights is None:
                raise Unauthorized(ENDED)
            self._seen[token.id] = self._clock()
            return rights
        key = registry.keys.get(token.subject)
        if key is None or not key.is_active(now := self._clock()):
            raise Unauthorized(ENDED)
        registry.key_uses[key.id] = now
        within_roles = key_of_person(registry, key)
        if within_roles is None:
            raise Unauthorized(ENDED)
        return within_roles

    def begin_session(self, member: Member, way: Way, browser: str, network: str) -> SignedToken:
        """The token of a new session of a person, which is listed from now on; DatabaseError."""
        now, account_id = self._clock(), member.account_id
        assert account_id is not None  # noqa: S101 - only people with an account sign in
        token = new_token(TokenKind.SESSION, subject_of(way, member.id), now + self._lifetime_ms)
        session = BrowserSession(
            token.id, account_id, way, browser, network, now, now, token.ends_at
        )
        self._shared.begin_session(session)
        return token

    def sessions_of(self, account_id: str) -> Sequence[BrowserSession]:
        """The sessions of an account, newest first; DatabaseError."""
        return self._shared.sessions(account_id, self._clock())

    def end_sessions(self, account_id: str, except_id: str | None = None) -> None:
        """End all sessions of an account, or all but one, in all processes; DatabaseError."""
        self._shared.end_sessions(account_id, except_id)
        self.refresh()

    def end_session(self, account_id: str, session_id: str) -> bool:
        """End a session in all processes; False if the account has none with this id."""
        sessions = {session.id: session for session in self.sessions_of(account_id)}
        session = sessions.get(session_id)
        if session is None:
            return False
        self._shared.end(session.id, session.ends_at, self._clock())
        self.refresh()
        return True

    @property
    def secret(self) -> bytes:
        """What seals second factors."""
        return self._current().secret

    def _write_seen(self, seen: Mapping[str, int]) -> None:
        with suppress(DatabaseError):
            self._shared.see_sessions(seen)

    def _current(self) -> SignInState:
        if self._state is None:
            raise Unavailable("The registry cannot be reached to verify sign-ins; retry")
        return self._state

    def _refresh_quietly(self) -> None:
        try:
            self.refresh()
        except DatabaseError as error:
            log.debug("sign-ins not refreshed", extra={"reason": first_line(error)})
