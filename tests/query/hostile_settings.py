"""How many examples hostile queries are tried with."""

import os

from hypothesis import HealthCheck, settings

from tests.oracle.hypothesis_profile import try_examples

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "100"))
"""Of each test in `make test-long`, a fifth in `make test`; more find more, and take longer."""

SETTINGS = settings(try_examples(EXAMPLES), suppress_health_check=list(HealthCheck))
