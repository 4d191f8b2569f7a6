"""The tools of the fault benchmark: what they take, what they answer, what they do to the world.

Written for this benchmark, so that every argument kind, effect and equivalent occurs. An answer is
a digest of the arguments as the tool understood them: a caller that knows the right arguments knows
the right answer, and a mended call that means something else is seen. Standard library only, for
the upstream that serves them has to start quickly.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

Json = dict[str, Any]


class Effect(StrEnum):
    """What a call does to the world."""

    READ = "read"
    KEYED = "keyed"
    """Writes, and knows a key that makes repeating harmless."""
    PLAIN = "plain"
    """Writes; the same call twice is two writes."""


@dataclass(frozen=True)
class Tool:
    """One tool.

    Attributes:
        name: at its source.
        source: which upstream serves it.
        effect: what it does.
        properties: of its input schema, without `case`.
        required: of these.
        family: tools of one family answer the same to the same arguments.
        key: where its idempotency key travels, `argument:NAME` or `meta:NAME`.
        is_destructive: whether it destroys something.
        equivalents: references of tools that may answer in its place, by the operator's word.
    """

    name: str
    source: str
    effect: Effect
    description: str
    properties: dict[str, Json]
    required: tuple[str, ...]
    family: str = ""
    key: str = ""
    is_destructive: bool = False
    equivalents: tuple[str, ...] = ()

    @property
    def reference(self) -> str:
        """`source/name`; each source is its own group."""
        return f"{self.source}/{self.name}"

    @property
    def key_place(self) -> tuple[str, str]:
        """Where the key travels, and under which name; two empty texts for nowhere."""
        place, _, name = self.key.partition(":")
        return place, name

    def input_schema(self) -> Json:
        """As the upstream lists it."""
        return {
            "type": "object",
            "properties": {"case": CASE, **self.properties},
            "required": ["case", *self.required],
            "additionalProperties": False,
        }

    def entry(self) -> Json:
        """The tool as an entry of `tools/list`."""
        reads = self.effect is Effect.READ
        hints = {"readOnlyHint": reads, "openWorldHint": False}
        if not reads:
            hints |= {"destructiveHint": self.is_destructive, "idempotentHint": False}
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.input_schema(),
            "outputSchema": OUTPUT,
            "annotations": hints,
        }


CASE: Final[Json] = {"type": "string", "description": "Your reference; it comes back as it is."}
OUTPUT: Final[Json] = {
    "type": "object",
    "properties": {
        "case": {"type": "string"},
        "total": {"type": "integer"},
        "confirmation": {"type": "string"},
    },
    "required": ["case", "total", "confirmation"],
}
KEY: Final[Json] = {"type": "string", "description": "Makes repeating this request harmless."}


def _text(description: str = "", **more: Any) -> Json:
    return {"type": "string", "description": description, **more}


def _words(description: str = "") -> Json:
    return {"type": "array", "items": {"type": "string"}, "description": description}


_FIND: Final[dict[str, Json]] = {
    "query": _text("Words to look for"),
    "max_price": {"type": "number", "description": "Highest price"},
    "in_stock": {"type": "boolean", "description": "Only what is there"},
    "tags": _words("All of these"),
    "sort_order": _text(enum=["price_low", "price_high", "newest_first"], default="price_low"),
    "page_size": {"type": "integer", "minimum": 1, "description": "How many", "default": 10},
}
_QUOTE: Final[dict[str, Json]] = {
    "sku": _text("Part number"),
    "qty": {"type": "integer", "minimum": 1, "description": "How many pieces"},
    "currency": _text(enum=["euro", "dollar", "franc", "yen_cash"]),
    "options": {
        "type": "object",
        "description": "What else is wanted",
        "properties": {"gift_wrap": {"type": "boolean"}, "note": {"type": "string"}},
        "additionalProperties": False,
    },
}
_CALENDAR: Final[dict[str, Json]] = {
    "first_day": _text("ISO date"),
    "days": {"type": "integer", "minimum": 1, "default": 7, "description": "How many days"},
    "people": _words("Whose calendars"),
    "detail_level": _text(enum=["busy_only", "titles", "everything"]),
}
_CONVERT: Final[dict[str, Json]] = {
    "weight_kg": {"type": "number", "description": "The weight in kg"},
    "target": _text(enum=["pound", "ounce", "stone"]),
    "digits": {"type": "integer", "minimum": 0, "default": 2},
}

TOOLS: Final[tuple[Tool, ...]] = (
    Tool(
        "find_parts",
        "shop",
        Effect.READ,
        "Find parts in the catalogue by words, price and tags.",
        _FIND,
        ("query",),
        equivalents=("mirror/find_parts",),
    ),
    Tool(
        "quote_price",
        "shop",
        Effect.READ,
        "What a number of pieces of a part costs.",
        _QUOTE,
        ("sku", "qty"),
        equivalents=("mirror/quote_price",),
    ),
    Tool(
        "track_order",
        "shop",
        Effect.READ,
        "Where an order is.",
        {
            "order_id": _text("Number of the order"),
            "detail_level": _text(enum=["state_only", "all_events"], default="state_only"),
            "since_days": {"type": "integer", "minimum": 0},
        },
        ("order_id", "detail_level"),
    ),
    Tool(
        "place_order",
        "shop",
        Effect.KEYED,
        "Order pieces of a part.",
        {
            "request_id": KEY,
            **_QUOTE,
            "express": {"type": "boolean", "default": False},
        },
        ("request_id", "sku", "qty"),
        key="argument:request_id",
    ),
    Tool(
        "send_notice",
        "shop",
        Effect.PLAIN,
        "Send a notice to customers.",
        {
            "recipients": _words("Addresses"),
            "body_text": _text("What it says"),
            "priority": _text(enum=["low", "normal", "urgent"], default="normal"),
            "copies": {"type": "integer", "minimum": 1},
        },
        ("recipients", "body_text", "priority"),
    ),
    Tool(
        "cancel_order",
        "shop",
        Effect.PLAIN,
        "Cancel an order for good.",
        {
            "order_id": _text("Number of the order"),
            "refund_amount": {"type": "number"},
            "notify": {"type": "boolean"},
        },
        ("order_id", "refund_amount"),
        is_destructive=True,
    ),
    Tool(
        "read_calendar",
        "office",
        Effect.READ,
        "Read the calendars of people.",
        _CALENDAR,
        ("first_day", "days", "people"),
        family="calendar",
        equivalents=("annex/lookup_calendar",),
    ),
    Tool(
        "convert_weight",
        "office",
        Effect.READ,
        "Convert a weight into another unit.",
        _CONVERT,
        ("weight_kg", "target"),
        equivalents=("annex/convert_weight",),
    ),
    Tool(
        "read_policy",
        "office",
        Effect.READ,
        "Read a paragraph of the house rules.",
        {
            "topic": _text("What about"),
            "paragraphs": {"type": "array", "items": {"type": "integer"}},
            "audience": _text(enum=["staff", "guests", "contractors"], default="staff"),
        },
        ("topic",),
    ),
    Tool(
        "book_room",
        "office",
        Effect.KEYED,
        "Book a room.",
        {
            "room_name": _text("Which room"),
            "first_day": _text("ISO date"),
            "hours": {"type": "number", "description": "How long"},
            "people": _words("Who comes"),
            "layout": _text(enum=["circle", "rows", "tables"], default="rows"),
        },
        ("room_name", "first_day", "hours", "layout"),
        key="meta:org.example/request-id",
    ),
    Tool(
        "file_expense",
        "office",
        Effect.PLAIN,
        "File an expense.",
        {
            "amount": {"type": "number", "description": "How much was paid"},
            "currency": _text(enum=["euro", "dollar", "franc"]),
            "memo": _text("What for"),
            "receipt": {
                "type": "object",
                "properties": {"file_name": {"type": "string"}, "pages": {"type": "integer"}},
                "additionalProperties": False,
            },
        },
        ("amount", "currency"),
    ),
    Tool("find_parts", "mirror", Effect.READ, "Find parts, from a copy.", _FIND, ("query",)),
    Tool("quote_price", "mirror", Effect.READ, "Price of a part, copy.", _QUOTE, ("sku", "qty")),
    Tool(
        "lookup_calendar",
        "annex",
        Effect.READ,
        "Look up the calendars of people.",
        _CALENDAR,
        ("first_day", "days", "people"),
        family="calendar",
    ),
    Tool(
        "convert_weight",
        "annex",
        Effect.READ,
        "Convert a weight into another unit, elsewhere.",
        _CONVERT,
        ("weight_kg", "target"),
    ),
)
BY_REFERENCE: Final = {tool.reference: tool for tool in TOOLS}
TRANSPORTS: Final = {"shop": "http", "annex": "http", "office": "stdio", "mirror": "stdio"}
ASKED: Final = {
    effect: tuple(
        tool for tool in TOOLS if tool.effect is effect and tool.source in {"shop", "office"}
    )
    for effect in Effect
}
"""What tasks ask for; the rest stands in for it."""

ERRORS: Final = (
    {"code": "rate_limited", "kind": "retryable", "message": "Come back later; nothing was done."},
    {"code": "signed_out", "kind": "needs_human", "message": "Somebody has to sign in again."},
)
"""What every tool declares about its own errors."""


def served_by(source: str) -> dict[str, Tool]:
    """The tools of one source, by name."""
    return {tool.name: tool for tool in TOOLS if tool.source == source}


def understood(tool: Tool, arguments: Json) -> Json:
    """The arguments as the tool takes them: known names only, defaults filled in."""
    taken = {name: arguments[name] for name in tool.properties if name in arguments}
    defaults = {n: p["default"] for n, p in tool.properties.items() if "default" in p}
    key_name = tool.key_place[1]
    return {name: value for name, value in {**defaults, **taken}.items() if name != key_name}


def digest(tool: Tool, arguments: Json) -> str:
    """What tells one meaning of a call from another."""
    family = tool.family or tool.name
    plain = json.dumps([family, _plain(understood(tool, arguments))], sort_keys=True)
    return hashlib.sha256(plain.encode()).hexdigest()


def answer(tool: Tool, arguments: Json) -> Json:
    """What the tool answers to valid arguments."""
    mark = digest(tool, arguments)
    return {"case": arguments["case"], "total": int(mark[:5], 16), "confirmation": mark[5:13]}


def complaint(tool: Tool, arguments: Json) -> str | None:
    """What the tool finds wrong; names that it does not know are passed over, as is common."""
    schema = tool.input_schema()
    missing = [name for name in schema["required"] if name not in arguments]
    if missing:
        return f"missing {missing[0]!r}"
    return _object_complaint(schema, arguments)


def _object_complaint(schema: Json, value: Json) -> str | None:
    for name, part in schema.get("properties", {}).items():
        if name in value and (problem := _value_complaint(part, value[name])):
            return f"{name}: {problem}"
    return None


def _value_complaint(schema: Json, value: Any) -> str | None:
    wanted = schema["type"]
    if not _IS[wanted](value):
        return f"{value!r} is not of type {wanted}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{value!r} is not one of {schema['enum']}"
    if wanted == "array":
        return next((p for v in value if (p := _value_complaint(schema["items"], v))), None)
    return _object_complaint(schema, value) if wanted == "object" else None


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == int(value)


_IS: Final[dict[str, Callable[[Any], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "integer": _is_integer,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def _plain(value: Any) -> Any:
    """The value with 3.0 written as 3, which JSON Schema does not tell apart."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
