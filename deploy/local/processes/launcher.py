"""Becomes another program that dies with the process that started it.

    python -S launch.py <pid of the parent> <program> <argument>…

The wish is made in the new process itself: a function run between fork and exec may hang when the
parent has threads.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Ask the kernel for SIGKILL when the parent dies; where there is none to ask, just go on."""
    parent, *program = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != int(parent):
            raise SystemExit("the parent has died meanwhile")
    os.execv(program[0], program)  # noqa: S606 - our own command, no shell wanted


if __name__ == "__main__":
    main()
