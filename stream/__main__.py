"""`python -m stream worker|backfill|keeper --name NAME`: the processes of the stream."""

import argparse
import os
import sys

from schemas.http.telemetry_server import start_telemetry
from schemas.runtime import log_setup
from schemas.runtime.environment import InvalidSetting, load_settings
from schemas.runtime.file_permissions import set_umask
from schemas.telemetry.traces import start_traces

DEFAULT_NAMES = {"worker": "worker-1", "backfill": "backfill", "keeper": "keeper"}
QUIET = ("faust", "aiokafka", "mode", "kafka")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m stream", description=__doc__)
    parser.add_argument("role", choices=("worker", "backfill", "keeper"))
    parser.add_argument("--name", help="name of this process, unique on its machine")
    parser.add_argument(
        "--level", default="", help="offsets that a backfill worker has read up to (JSON)"
    )
    args = parser.parse_args()
    try:
        settings = load_settings()
        name = args.name or DEFAULT_NAMES[args.role]
        start_traces(settings, args.role, name)
    except InvalidSetting as error:
        sys.exit(f"{args.role}: {error}")
    set_umask(settings)
    log_setup.set_up_logging(settings, QUIET)
    start_telemetry(settings, name)
    # Read when Arrow is loaded: its default pool would keep memory that nothing else can use.
    os.putenv("ARROW_DEFAULT_MEMORY_POOL", "system")
    # A keeper needs no Faust and no parsers, a worker no DuckDB: each loads its own only.
    if args.role == "backfill":
        from stream import backfill_standby

        return backfill_standby.run(settings, name, args.level)
    if args.role == "keeper":
        from stream.maintenance import scheduler
        from stream.recovery.requested_replays import run_requested_replays

        return scheduler.run(settings, name, [run_requested_replays])
    from stream import worker

    return worker.run(settings, name)


if __name__ == "__main__":
    raise SystemExit(main())
