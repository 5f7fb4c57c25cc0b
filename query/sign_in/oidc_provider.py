"""OidcProvider: the identity provider of the settings, by OpenID Connect; an adapter of Authlib.

Endpoints and keys come from `<issuer>/.well-known/openid-configuration`, which is read when the
first person signs in and again after an hour. All addresses come from the settings or from that
document, none from a caller.
"""

import asyncio
import logging
import re
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

import httpx2
import msgspec
from authlib.integrations.starlette_client import OAuth, OAuthError
from joserfc.errors import JoseError
from msgspec import Struct, structs

from query.sign_in.identity import Problem, SignInProblem
from query.sign_in.oidc import Authorization, BegunSignIn
from schemas.runtime.log_setup import silence
from schemas.runtime.sign_in_access import DISCOVERY_PATH, OidcAccess

log = logging.getLogger(__name__)

TIMEOUT_SECONDS = 10.0
METADATA_SECONDS = 3600.0
SIGNATURES = (
    *("RS256", "RS384", "RS512"),
    *("PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512"),
    *("EdDSA", "Ed25519"),
)
"""Algorithms of ID tokens: with public keys only."""
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint")
BASIC, POST = "client_secret_basic", "client_secret_post"
CODE_REFUSED = "invalid_grant"
"""The error of a token endpoint that does not take the code; others are about the set-up."""
_ERROR_CODE = re.compile(r"[a-z_]{1,60}")


class Metadata(Struct, frozen=True):
    """What we use of the metadata that an issuer publishes."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str = ""
    token_endpoint_auth_methods_supported: tuple[str, ...] = (BASIC,)
    id_token_signing_alg_values_supported: tuple[str, ...] = ("RS256",)


class InvalidResponse(ValueError):
    """The provider's response is not what it must be; the message contains no secret."""


def parse_metadata(content: bytes, issuer: str) -> Metadata:
    """The metadata of that issuer; InvalidResponse, DecodeError."""
    metadata = msgspec.json.decode(content, type=Metadata)
    if metadata.issuer.rstrip("/") != issuer:
        raise InvalidResponse(f"the provider calls itself {metadata.issuer[:200]!r}")
    for name in ENDPOINTS:
        url = getattr(metadata, name)
        if issuer.startswith("https://") and url and not url.startswith("https://"):
            raise InvalidResponse(f"the provider's {name} is not reached by https")
    return metadata


@cache
def tls() -> ssl.SSLContext:
    """The authorities that providers may have; reading them takes 60 ms, so it is done once."""
    return httpx2.create_ssl_context()


class OidcProvider:
    """The identity provider. Its methods raise SignInProblem."""

    def __init__(self, access: OidcAccess) -> None:
        self._access = access
        self._client: Any = None
        self._read_at = 0.0
        silence("authlib")  # its debug records have PKCE's secrets
        silence("httpx2")
        silence("httpcore2")

    async def begin(self, redirect_uri: str) -> Authorization:
        """The address at which a browser signs in, with PKCE and a nonce."""
        async with _named_failures():
            client = await self._current()
            begun = await client.create_authorization_url(redirect_uri)
        return msgspec.convert(begun, Authorization)

    async def claims(self, begun: BegunSignIn, code: str) -> Mapping[str, Any]:
        """What the provider says of the person to whom it gave the code."""
        async with _named_failures():
            client = await self._current()
            token = await client.fetch_access_token(
                begun.redirect_uri, code=code, code_verifier=begun.code_verifier
            )
            required = {
                "iss": {"essential": True, "value": client.server_metadata["issuer"]},
                "aud": {"essential": True, "value": self._access.client_id},
            }
            claims = await client.parse_id_token(token, begun.nonce, required)
            if claims is None:
                raise InvalidResponse("the token endpoint sent no ID token")
            return await self._with_user_info(client, token, claims)

    async def _with_user_info(
        self, client: Any, token: Any, claims: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """The claims with those of the user info endpoint, where e-mail or groups are missing.

        The ID token comes first, as it is signed. `email_verified` counts only from the document
        that has the address.
        """
        groups = self._access.groups_claim
        has_groups = not groups or groups in claims or groups.partition(".")[0] in claims
        is_complete = "email" in claims and has_groups
        if is_complete or not client.server_metadata["userinfo_endpoint"]:
            return claims
        more = await client.userinfo(token=token)
        if more.get("sub") != claims["sub"]:
            raise InvalidResponse("the user info is about somebody else")
        verified = (claims if "email" in claims else more).get("email_verified")
        return {**more, **claims, "email_verified": verified}

    async def _current(self) -> Any:
        """The client of the provider, with metadata that is not old."""
        if self._client is None or time.monotonic() - self._read_at > METADATA_SECONDS:
            metadata = await self._read_metadata()
            self._client, self._read_at = self._client_of(metadata), time.monotonic()
        return self._client

    async def _read_metadata(self) -> Metadata:
        async with httpx2.AsyncClient(timeout=TIMEOUT_SECONDS, verify=tls()) as client:
            response = await client.get(self._access.issuer + DISCOVERY_PATH)
            response.raise_for_status()
        return parse_metadata(response.content, self._access.issuer)

    def _client_of(self, metadata: Metadata) -> Any:
        methods = metadata.token_endpoint_auth_methods_supported
        algorithms = metadata.id_token_signing_alg_values_supported
        used = structs.asdict(metadata) | {
            "id_token_signing_alg_values_supported": [
                name for name in algorithms if name in SIGNATURES
            ]
        }
        return OAuth().register(
            "oidc",
            client_id=self._access.client_id,
            client_secret=self._access.client_secret,
            client_kwargs={
                "scope": self._access.scopes,
                "code_challenge_method": "S256",
                "token_endpoint_auth_method": BASIC if BASIC in methods else POST,
                "timeout": TIMEOUT_SECONDS,
                "verify": tls(),
            },
            **used,
        )


@asynccontextmanager
async def _named_failures() -> AsyncIterator[None]:
    """Turn failures into problems. The log names them, without contents of tokens or responses."""
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            yield
    except OAuthError as error:
        code = error.error if _ERROR_CODE.fullmatch(str(error.error)) else "another error"
        log.warning("identity provider refused the request", extra={"reason": code})
        problem = Problem.REFUSED if code == CODE_REFUSED else Problem.UNAVAILABLE
        raise SignInProblem(problem) from None
    except JoseError as error:
        log.warning("ID token refused", extra={"reason": str(error)[:200]})
        raise SignInProblem(Problem.REFUSED) from None
    except httpx2.HTTPStatusError as error:
        reason = f"HTTP {error.response.status_code} from {error.request.url.host}"
        log.warning("identity provider unavailable", extra={"reason": reason})
        raise SignInProblem(Problem.UNAVAILABLE) from None
    except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError) as error:
        log.warning("identity provider unavailable", extra={"reason": type(error).__name__})
        raise SignInProblem(Problem.UNAVAILABLE) from None
    except (ValueError, KeyError, TypeError) as error:  # the libraries look into what it sent
        reason = str(error) if isinstance(error, InvalidResponse) else type(error).__name__
        log.warning("invalid response of the identity provider", extra={"reason": reason})
        raise SignInProblem(Problem.UNAVAILABLE) from None
