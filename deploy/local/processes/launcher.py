"""exec wrapper that sets PR_SET_PDEATHSIG, so children die with the supervisor.

    python -S launcher.py <pid of the parent> <program> <argument>…

It is set in the new process itself, because a function that runs between fork and exec may hang
when the parent has threads.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Request SIGKILL for the death of the parent (Linux only), then exec the program."""
    parent, *program = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != int(parent):
            raise SystemExit("the parent died before the program started")
    os.execv(program[0], program)  # noqa: S606 - our own command, no shell wanted


if __name__ == "__main__":
    main()
