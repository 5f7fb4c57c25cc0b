"""Roles of people."""

from enum import StrEnum


class Role(StrEnum):
    """What a person is in an organization, or on a website; the highest first."""

    OWNER = "owner"
    """As admin; only owners make, change and remove owners."""
    ADMIN = "admin"
    ANALYST = "analyst"
    """Reads all, and saves goals, segments, explorations, path groups, reports and the like."""
    VIEWER = "viewer"
    """Reads all."""


ROLES = tuple(role.value for role in Role)
