"""A process for tests of the supervisor: says what happens to it in a journal, obeys its script.

python scripted_process.py <journal> <name> [word …]; words: stubborn dies=<seconds> sulks beats
chatters exits-143
"""

import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType


def main() -> None:
    journal, name, *script = Path(sys.argv[1]), *sys.argv[2:]

    def note(word: str) -> None:
        with journal.open("a") as file:
            file.write(f"{name} {word}\n")

    def leave(_number: int, _frame: FrameType | None) -> None:
        note("told")
        if "stubborn" not in script:
            time.sleep(0.1)  # so that a wrong order of stopping shows
            note("left")
            raise SystemExit(143 if "exits-143" in script else 0)

    signal.signal(signal.SIGTERM, leave)
    note("started")
    (journal.parent / f"{os.getpid()}.up").touch()
    for word in script:
        if word.startswith("dies="):
            time.sleep(float(word.removeprefix("dies=")))
            sys.exit("my last words")
    lines = 0
    while True:
        if "beats" in script:
            (journal.parent / f"{name}.beat").write_text(str(time.monotonic_ns()))
        if "chatters" in script:
            for _ in range(2000):
                sys.stderr.write(f"{'so it goes ' * 9}{lines}\n")
                lines += 1
            note("chattered")
        time.sleep(0.05)


if __name__ == "__main__":
    main()
