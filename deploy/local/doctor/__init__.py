"""`tidemark doctor`: what is wrong with an installation, what it means, and what mends it.

To add a check: write `find` (and `repair`, where that is safe) beside what it knows, and name it in
`CHECKS`.
"""

from deploy.local.doctor.check import Check, NotLooked, Outcome, Scope, examine
from deploy.local.doctor.kafka import POSITIONS, TOPICS
from deploy.local.doctor.machine import CLOCK, DISK, PERMISSIONS
from deploy.local.doctor.processes import LEFTOVERS, PORTS, PROCESSES
from deploy.local.doctor.registry import REGISTRY
from deploy.local.doctor.settings import SETTINGS
from deploy.local.doctor.tables import ACKNOWLEDGED, BALANCE, FILES, LOGS

CHECKS: tuple[Check, ...] = (
    SETTINGS,
    DISK,
    PERMISSIONS,
    CLOCK,
    REGISTRY,
    PROCESSES,
    PORTS,
    LEFTOVERS,
    LOGS,
    FILES,
    TOPICS,
    POSITIONS,
    BALANCE,
    ACKNOWLEDGED,
)
"""In this order they are made and shown."""

__all__ = ["CHECKS", "Check", "NotLooked", "Outcome", "Scope", "examine"]
