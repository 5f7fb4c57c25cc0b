"""ClickHouse in a process: one statement per line of input, its result per line of output.

It runs in the environment of `deploy/locks/clickhouse.txt`, so it imports nothing of Tidemark.
"""

import json
import resource
import sys
import time
from typing import Any

from chdb.session import Session


def main(folder: str) -> None:
    """Execute statements until the input ends; tables lie in the folder."""
    session = Session(folder)
    for line in sys.stdin:
        print(json.dumps(executed(session, json.loads(line))), flush=True)


def executed(session: Session, statement: str) -> dict[str, Any]:
    """The rows of a statement, its milliseconds, and the most memory the process ever had (KiB)."""
    spent, began = time.process_time(), time.perf_counter()
    try:
        text = str(session.query(statement, "JSONCompact"))
    except RuntimeError as error:
        return {"error": str(error)}
    took, spent = time.perf_counter() - began, time.process_time() - spent
    table = json.loads(text) if text.startswith("{") else {"meta": [], "data": []}
    return {
        "columns": table["meta"],
        "rows": table["data"],
        "ms": took * 1000,
        "cpuMs": spent * 1000,
        "peakKib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }


if __name__ == "__main__":
    main(sys.argv[1])
