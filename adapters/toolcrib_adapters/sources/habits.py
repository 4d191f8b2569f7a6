"""What a crib remembers of its sources in its home folder: what was listed, and when it was used.

It tells two things at a start: whether the stored tools are those of the present settings (then a
source may wait for its first call), and which sources are used so often that they should not.
Losing the file costs nothing but an early start.
"""

from __future__ import annotations

import hashlib
import json
import logging
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

if TYPE_CHECKING:
    from pathlib import Path

    from toolcrib_registry.ports import Clock
    from toolcrib_registry.records import SourceRecord

_log = logging.getLogger(__name__)

FILE: Final = "source_habits.json"
HOT: Final = timedelta(days=3)
"""A weekend."""
_EXACT: Final = timedelta(minutes=1)
"""Nobody needs the time of the last call more exactly, and each call would cost a note."""
_FORGOTTEN: Final = timedelta(days=90)
_NEVER: Final = datetime.min.replace(tzinfo=UTC)


class Habit(BaseModel):
    """What is remembered of one source.

    Attributes:
        listed: the digest of the settings with which it was listed last.
        used: when it was called last.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    listed: str = ""
    used: datetime = _NEVER


_FILE: TypeAdapter[dict[str, Habit]] = TypeAdapter(dict[str, Habit])


class Habits:
    """The habits of one home folder; without a folder, of this process only."""

    def __init__(self, home: Path | None, clock: Clock) -> None:
        self._file = None if home is None else home / FILE
        self._clock = clock
        self._known = self._read()
        self._is_changed = False

    def listed(self, record: SourceRecord) -> None:
        """The catalogue has what this source lists."""
        digest = _digest(record)
        habit = self._known.get(record.name, Habit())
        if habit.listed != digest:
            self._put(record.name, habit.model_copy(update={"listed": digest}))

    def used(self, source: str) -> None:
        """The source was called."""
        now, habit = self._clock.now(), self._known.get(source, Habit())
        if now - habit.used >= _EXACT:
            self._put(source, habit.model_copy(update={"used": now}))

    def is_known(self, record: SourceRecord) -> bool:
        """Whether it was listed with these settings."""
        habit = self._known.get(record.name)
        return habit is not None and habit.listed == _digest(record)

    def is_hot(self, source: str) -> bool:
        """Whether it was used lately."""
        habit = self._known.get(source)
        return habit is not None and self._clock.now() - habit.used <= HOT

    def save(self) -> None:
        """Write down what is new; other cribs of this home write there, too."""
        if self._file is None or not self._is_changed:
            return
        self._is_changed = False
        for name, theirs in self._read().items():
            ours = self._known.get(name, theirs)
            self._known[name] = ours.model_copy(update={"used": max(ours.used, theirs.used)})
        oldest = self._clock.now() - _FORGOTTEN
        kept = {n: h for n, h in self._known.items() if h.used > oldest or h.listed}
        draft = self._file.with_suffix(".new")
        try:
            draft.write_bytes(_FILE.dump_json(kept))
            draft.replace(self._file)
        except OSError as error:
            _log.warning("cannot write down which sources are used: %s", error)

    def _put(self, source: str, habit: Habit) -> None:
        self._known[source] = habit
        self._is_changed = True

    def _read(self) -> dict[str, Habit]:
        if self._file is None:
            return {}
        try:
            return _FILE.validate_json(self._file.read_bytes())
        except (OSError, ValidationError):
            return {}


def _digest(record: SourceRecord) -> str:
    facts = json.dumps([record.kind.value, record.spec, record.group], sort_keys=True)
    return hashlib.sha256(facts.encode()).hexdigest()[:32]
