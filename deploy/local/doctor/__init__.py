"""`tidemark doctor`: CHECKS, in the order in which they run.

To add a check: write a function that yields findings (and a repair, where that is safe) in a module
of this folder, and add its `Check` to `CHECKS`.
"""

from deploy.local.doctor.check import Check, CheckContext, CheckResult, CheckSkipped, run_checks
from deploy.local.doctor.kafka import POSITIONS_CHECK, TOPIC_CONFIGURATION_CHECK, TOPICS_CHECK
from deploy.local.doctor.machine import CLOCK_CHECK, DISK_CHECK, PERMISSIONS_CHECK
from deploy.local.doctor.object_store import OBJECT_STORE_CHECK
from deploy.local.doctor.processes import (
    LEFTOVERS_CHECK,
    PORTS_CHECK,
    PROCESSES_CHECK,
    PROXIES_CHECK,
)
from deploy.local.doctor.registry import REGISTRY_CHECK
from deploy.local.doctor.settings import SETTINGS_CHECK
from deploy.local.doctor.tables import (
    ACKNOWLEDGED_CHECK,
    DATA_FILES_CHECK,
    LEDGER_CHECK,
    LOGS_CHECK,
)

CHECKS: tuple[Check, ...] = (
    SETTINGS_CHECK,
    DISK_CHECK,
    PERMISSIONS_CHECK,
    CLOCK_CHECK,
    OBJECT_STORE_CHECK,
    REGISTRY_CHECK,
    PROCESSES_CHECK,
    PORTS_CHECK,
    PROXIES_CHECK,
    LEFTOVERS_CHECK,
    LOGS_CHECK,
    DATA_FILES_CHECK,
    TOPICS_CHECK,
    TOPIC_CONFIGURATION_CHECK,
    POSITIONS_CHECK,
    LEDGER_CHECK,
    ACKNOWLEDGED_CHECK,
)
"""The order of execution and output."""

__all__ = ["CHECKS", "Check", "CheckContext", "CheckResult", "CheckSkipped", "run_checks"]
