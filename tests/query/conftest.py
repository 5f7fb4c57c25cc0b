"""A query service over a lake that the test fills."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from argon2 import PasswordHasher

from query import dependencies
from query.resources import person_sign_in
from schemas.registry import passwords
from tests.installation import PATIENCE
from tests.query.query_service import InProcessService, reused, start_service


@pytest.fixture(scope="session", autouse=True)
def quick_passwords() -> Iterator[None]:
    """Hashes of passwords in this process cost a hundredth of those of a real service."""
    hasher = PasswordHasher(time_cost=1, memory_cost=256, parallelism=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "_HASHER", hasher)
        patch.setattr(person_sign_in, "DECOY_HASH", hasher.hash("of nobody"))
        yield


@pytest.fixture(scope="session", autouse=True)
def patient_registry() -> Iterator[None]:
    """A busy machine is no fault of the registry."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dependencies, "REGISTRY_SECONDS", PATIENCE * dependencies.REGISTRY_SECONDS)
        yield


@reused
def service(tmp_path: Path) -> InProcessService:
    """It runs in this process, with one lake and one registry of its own."""
    return start_service(tmp_path)


@pytest.fixture
def unused_service(tmp_path: Path) -> InProcessService:
    """A service that has counted no request in any limit."""
    return start_service(tmp_path)
