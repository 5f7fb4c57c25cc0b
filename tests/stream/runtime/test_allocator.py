"""A worker keeps freed memory between batches."""

import json
import subprocess
import sys

LOOK = """
import gc, json
import pyarrow as pa
from stream.runtime.allocator import tune_allocator

tune_allocator()
held = pa.allocate_buffer(1 << 20)
print(json.dumps([gc.get_threshold()[0], gc.get_freeze_count() > 0, gc.isenabled(),
                  pa.default_memory_pool().backend_name, pa.total_allocated_bytes()]))
"""


def test_lasting_objects_are_not_collected_and_freed_memory_is_kept() -> None:
    problems = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, check=True)

    assert json.loads(problems.stdout) == [50_000, True, True, "system", 1 << 20]
