"""A small process that outlives a killed crib by a moment, and ends what the crib had started.

It is a shell that reads which groups there are and waits for the end of its input: the system
closes the pipe however the crib ends. A signal at the parent's death (Linux) would reach only the
server itself and not what a wrapper started. The roll and its sweep remain for what kills both.
"""

from __future__ import annotations

import subprocess
from contextlib import suppress
from typing import Final

SCRIPT: Final = """
trap '' HUP INT TERM
groups=" "
while read -r sign group; do
  case "$sign" in
    +) groups="$groups$group " ;;
    -) case "$groups" in
         *" $group "*) groups="${groups%%" $group "*} ${groups#*" $group "}" ;;
       esac ;;
  esac
done
finish() {
  left=" "
  for group in $groups; do
    kill -s "$1" -- "-$group" 2>/dev/null && left="$left$group "
  done
  groups="$left"
  [ "$groups" = " " ] && exit 0
  sleep 1
}
finish 0
finish TERM
finish KILL
"""
"""Servers hear of the end by their closed input first, and may leave by themselves."""
_END_SECONDS: Final = 1.0


class Guardian:
    """The guardian of one crib; it starts with the first group."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._groups: set[int] = set()

    @property
    def pid(self) -> int | None:
        """The number of its process."""
        return None if self._process is None else self._process.pid

    def guard(self, group: int) -> None:
        """End this group if the crib is killed."""
        self._groups.add(group)
        if self._process is None or not self._tell(f"+ {group}\n"):
            self._start()

    def forget(self, group: int) -> None:
        """That group has ended; its number may be another's soon."""
        self._groups.discard(group)
        if self._process is not None and not self._tell(f"- {group}\n"):
            self._start()

    def close(self) -> None:
        """The crib ends in order: whatever is left is ended by it, too."""
        process, self._process = self._process, None
        if process is None or process.stdin is None:
            return
        with suppress(OSError):
            process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_END_SECONDS)

    def _start(self) -> None:
        """Start it, or another in place of one that somebody ended."""
        self.close()
        with suppress(OSError):  # no shell: the sweep of the next start has to do
            self._process = subprocess.Popen(  # noqa: S603 - a fixed command
                ["/bin/sh", "-c", SCRIPT],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
                env={"PATH": "/usr/bin:/bin"},
            )
            self._tell("".join(f"+ {group}\n" for group in sorted(self._groups)))

    def _tell(self, text: str) -> bool:
        process = self._process
        if process is None or process.stdin is None:
            return False
        try:
            process.stdin.write(text.encode())
            process.stdin.flush()
        except OSError:
            return False
        return True
