"""Rules for calls: what the operator sets for the calls of one tool, group or source.

Every field may be unset. `merged` lays the narrower over the wider; what remains unset is for the
contract, and after it for the defaults of whoever reads the field. Pure; where rules are kept is a
matter of the catalogue.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError
from toolcrib_protocol.names import check_group_name
from toolcrib_protocol.tool import ToolName, check_tool_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolcrib_protocol.json_value import Json, JsonObject

LONGEST_CALL_SECONDS: Final = 900.0
"""No call takes longer, whatever is set."""
LARGEST_RESULT: Final = 64 * 1024 * 1024
EVERYWHERE: Final = "*"
"""In `results_may_go_to`: any source."""


class RepairMode(StrEnum):
    """What is done with arguments that the schema refuses."""

    STRICT = "strict"
    """Only what needs no guess at all: JSON text, wrappings, numbers and booleans as text."""
    REPAIR = "repair"
    """Also near misses of names and values, where only one can be meant."""
    OFF = "off"
    """Nothing: they are refused."""


class WhenFull(StrEnum):
    """What happens to a call that finds a gate full."""

    WAIT = "wait"
    REJECT = "reject"


def _is_source(text: str) -> str:
    try:
        return text if text == EVERYWHERE else check_group_name(text, what="source")
    except ToolError as error:
        raise ValueError(error.message) from error


_Source = Annotated[str, AfterValidator(_is_source)]


class CallRules(BaseModel):
    """What the operator set; None is "not set here".

    Attributes:
        repair: what is done with arguments that do not fit.
        max_concurrency: how many calls may run at the same time.
        calls_per_second: how many may begin in a second, in the long run.
        burst: how many may begin at once after a pause.
        queue_length: how many may wait; 0 for none.
        when_full: whether a call waits at a full gate, or is refused at once.
        timeout_seconds: how long one call may take.
        timeout_cap_seconds: how long it may take when progress extends it.
        extend_on_progress: whether a report of progress begins the time anew, up to the cap.
        retries: how often a call is repeated where that is harmless.
        cache_seconds: how long a result of a tool that only reads is good for.
        cache_shared: whether callers share such results.
        capture: whether arguments and results are kept for looking at later.
        capture_until: until when they are kept (seconds since 1970) unless `capture` says no.
        equivalents: tools (`group/tool`) that may answer in place of this one.
        max_result_bytes: results that are larger are kept, and a handle is delivered.
        results_may_go_to: sources whose tools may be given a kept result of this one as an
            argument; `*` for all.
        handle_seconds: how long a kept result is kept.
        repeats: whether a caller may repeat a failing call, or one with the same answer, for ever.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    repair: RepairMode | None = None
    max_concurrency: int | None = Field(default=None, ge=1, le=10_000)
    calls_per_second: float | None = Field(default=None, gt=0, le=100_000)
    burst: int | None = Field(default=None, ge=1, le=100_000)
    queue_length: int | None = Field(default=None, ge=0, le=100_000)
    when_full: WhenFull | None = None
    timeout_seconds: float | None = Field(default=None, gt=0, le=LONGEST_CALL_SECONDS)
    timeout_cap_seconds: float | None = Field(default=None, gt=0, le=LONGEST_CALL_SECONDS)
    extend_on_progress: bool | None = None
    retries: int | None = Field(default=None, ge=0, le=20)
    cache_seconds: float | None = Field(default=None, ge=0, le=86_400)
    cache_shared: bool | None = None
    capture: bool | None = None
    capture_until: float | None = Field(default=None, gt=0)
    equivalents: tuple[ToolName, ...] | None = Field(default=None, max_length=20)
    max_result_bytes: int | None = Field(default=None, ge=500, le=LARGEST_RESULT)
    results_may_go_to: tuple[_Source, ...] | None = Field(default=None, max_length=200)
    handle_seconds: float | None = Field(default=None, gt=0, le=30 * 86_400)
    repeats: bool | None = None

    @property
    def is_set(self) -> frozenset[str]:
        """The names of the fields that are set."""
        names = self.model_fields_set
        return frozenset(name for name in names if getattr(self, name) is not None)

    def as_json(self) -> JsonObject:
        """What is set, as JSON; `CallRules.read` reads it."""
        facts: JsonObject = self.model_dump(mode="json", exclude_none=True)
        return facts

    @classmethod
    def read(cls, facts: JsonObject, scope: str) -> CallRules:
        """The rules that `facts` set.

        Raises:
            ToolError: `invalid_settings`, naming the scope and the field.
        """
        try:
            return cls.model_validate(facts)
        except ValidationError as error:
            text = f"the rules of {scope!r} cannot be used: {_told(error)}"
            raise ToolError(INVALID_SETTINGS, text) from error


def _told(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(map(str, fault['loc'])) or 'all of it'}: {fault['msg']}"
        for fault in error.errors(include_url=False, include_context=False)
    )


NO_RULES: Final = CallRules()
"""Nothing is set."""
CAREFUL_RULES: Final = CallRules(
    repair=RepairMode.OFF,
    retries=0,
    cache_seconds=0,
    cache_shared=False,
    capture=False,
    equivalents=(),
    results_may_go_to=(),
)
"""What holds where rules are set and cannot be read: nothing that somebody may have forbidden."""


def read_carefully(facts: Json) -> tuple[CallRules, str]:
    """The rules that were kept as `facts`, and why some of them cannot be read; "" if all can.

    A fault of a disk, or a newer release, can have written anything. Fields that cannot be read
    are as in `CAREFUL_RULES`, the others as they are.
    """
    if not isinstance(facts, dict):
        return CAREFUL_RULES, "they are no JSON object"
    try:
        return CallRules.model_validate(facts), ""
    except ValidationError as error:
        broken = {fault["loc"][0] for fault in error.errors()}
        sound = {name: value for name, value in facts.items() if name not in broken}
        careful = {name: getattr(CAREFUL_RULES, name) for name in CAREFUL_RULES.is_set & broken}
        return CallRules.model_validate({**sound, **careful}), _told(error)


def merged(rules: Iterable[CallRules]) -> CallRules:
    """What holds where all of `rules` apply; the narrowest comes first and wins."""
    found = NO_RULES
    for wider in rules:
        unset = {name: getattr(wider, name) for name in wider.is_set - found.is_set}
        found = found.model_copy(update=unset) if unset else found
    return found


class ScopeKind(StrEnum):
    """What rules can be set for."""

    TOOL = "tool"
    GROUP = "group"
    SOURCE = "source"


@dataclass(frozen=True, slots=True, order=True)
class RuleScope:
    """What some rules are for: `tool:group/name`, `group:name` or `source:name`."""

    kind: ScopeKind
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"

    @classmethod
    def parse(cls, text: str) -> RuleScope:
        """The scope that is written as `kind:name`.

        Raises:
            ToolError: `invalid_settings`.
        """
        kind, _, name = text.partition(":")
        if kind not in set(ScopeKind) or not name:
            raise ToolError(
                INVALID_SETTINGS,
                f"{text!r} names nothing that rules can be set for; write tool:GROUP/NAME, "
                "group:NAME or source:NAME",
            )
        try:
            check_tool_name(name) if kind == ScopeKind.TOOL else check_group_name(name, what=kind)
        except (ValueError, ToolError) as error:
            raise ToolError(INVALID_SETTINGS, f"{text!r} cannot be used: {error}") from error
        return cls(ScopeKind(kind), name)
