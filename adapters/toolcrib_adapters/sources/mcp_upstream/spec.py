"""The settings of an MCP upstream, as they are stored, and expanded for one connection."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Final, Literal

import httpx2
from mcp.client.stdio import DEFAULT_INHERITED_ENV_VARS
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
    field_validator,
)

from toolcrib_adapters.expansion import Expansion, Secrets
from toolcrib_adapters.sources.mcp_upstream.forwarding import forwarding_problem
from toolcrib_protocol.errors import INVALID_SETTINGS, ErrorKind, ToolError
from toolcrib_registry.shown_text import without_secrets

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolcrib_protocol.json_value import JsonObject

_LAZY_IDLE_SECONDS: Final = 600.0
_MOST_PROCESSES: Final = 16
_MOST_CONNECTIONS: Final = 100
_LAST_PORT: Final = 65_535
_SHORTEST_WRITTEN_SECRET: Final = 8
"""Values that are written out in the settings may be keys, too; shorter ones are plain options."""


class _Limits(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    connect_timeout_seconds: float = Field(default=60.0, gt=0, le=600)
    """Some servers take 22 s to their first answer."""
    timeout_seconds: float | None = Field(default=None, gt=0)
    """No call of this source may take longer."""
    asks_callers: bool = True
    """Whether an older server is told that it may ask callers in the middle of a call."""
    generation: Literal["auto", "older"] = "auto"
    """`older` shakes hands in any case; the default is the newest that the server speaks."""
    start: Literal["eager", "lazy"] = "eager"
    """`lazy`: nothing runs before the first call, if the tools are known from earlier."""
    idle_seconds: float | None = Field(default=None, ge=1)
    """After so long without a call nothing runs until the next one; `lazy` sources: 600."""
    affinity: Literal["shared", "per_caller", "per_call"] = "shared"
    """Who shares a connection, and with it what the server keeps between calls."""
    most_connections: int | None = Field(default=None, ge=1, le=1_000)
    """How many callers, or calls, may have a connection of their own at once: 100, processes 16."""

    @property
    def rests_after_seconds(self) -> float | None:
        """After how long without a call nothing runs any more; None: never."""
        if self.idle_seconds is None and self.start == "lazy":
            return _LAZY_IDLE_SECONDS
        return self.idle_seconds


class StdioSpec(_Limits):
    """A server that is started as a process; command and arguments are never split again."""

    transport: Literal["stdio"]
    command: str = Field(min_length=1)
    args: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    inherit_env: tuple[str, ...] = ()
    cwd: str | None = None

    @property
    def own_connections(self) -> int:
        """How many connections there may be besides the common one."""
        return self.most_connections or _MOST_PROCESSES

    @property
    def forward_headers(self) -> dict[str, str]:
        """A process has no headers."""
        return {}

    def expanded(self, environment: Mapping[str, str]) -> tuple[StdioSpec, Secrets]:
        """The settings with variables filled in and `env` complete, and what must not be shown."""
        expansion = Expansion(environment)
        inherited = {name: environment[name] for name in self.inherit_env if name in environment}
        env = {name: expansion.text(value) for name, value in self.env.items()}
        changes = {
            "command": expansion.text(self.command),
            "args": tuple(expansion.text(arg) for arg in self.args),
            "env": {**_minimal(environment), **inherited, **env},
            "cwd": None if self.cwd is None else expansion.text(self.cwd),
        }
        written = _maybe_secret([*env.values(), *inherited.values()])
        return self.model_copy(update=changes), Secrets([*expansion.values, *written])


def _may_be_address(text: str) -> str:
    if not re.match(_ADDRESS, text):
        raise ValueError("an address begins with http:// or https://, or with ${NAME}")
    if "${" not in text and not _is_web_address(text):
        raise ValueError("that is no whole address, such as https://HOST:PORT/mcp")
    return text


_ADDRESS: Final = r"(?i)^(https?://|\$\{)"
Address = Annotated[
    str,
    AfterValidator(_may_be_address),
    WithJsonSchema({"pattern": _ADDRESS, "title": "Url", "type": "string"}),
]


class HttpSpec(_Limits):
    """A server at an address."""

    transport: Literal["http", "sse"]
    url: Address
    headers: dict[str, str] = Field(default_factory=dict)
    forward_headers: dict[str, str] = Field(default_factory=dict)
    """Names at the server, by the names of the caller's headers that may go up."""

    @property
    def own_connections(self) -> int:
        """How many connections there may be besides the common one."""
        return self.most_connections or _MOST_CONNECTIONS

    @field_validator("forward_headers")
    @classmethod
    def _may_be_forwarded(cls, wanted: dict[str, str]) -> dict[str, str]:
        problem = forwarding_problem(wanted)
        if problem is not None:
            raise ValueError(problem)
        return wanted

    def expanded(self, environment: Mapping[str, str]) -> tuple[HttpSpec, Secrets]:
        """The settings with variables filled in, and what must not be shown.

        Raises:
            ToolError: `invalid_settings`.
        """
        expansion = Expansion(environment)
        headers = {name: expansion.text(value) for name, value in self.headers.items()}
        url = expansion.text(self.url)
        if not _is_web_address(url):
            # As it is written: what was filled in is nobody's to see.
            shown = without_secrets(self.url)
            text = f"the address {shown!r} is, filled in, no address of http:// or https://"
            raise ToolError(INVALID_SETTINGS, text, ErrorKind.NEEDS_HUMAN)
        changes = {"url": url, "headers": headers}
        # `Authorization: Bearer KEY` is often told back without its first word.
        words = [value.split(" ", 1)[-1] for value in headers.values()]
        written = _maybe_secret([*headers.values(), *words])
        return self.model_copy(update=changes), Secrets([*expansion.values, *written])

    def for_one(self, personal: Mapping[str, str]) -> HttpSpec:
        """The settings with the headers of one caller in place of the common ones."""
        replaced = {name.lower() for name in personal}
        common = {k: v for k, v in self.headers.items() if k.lower() not in replaced}
        return self.model_copy(update={"headers": {**common, **personal}})


def _is_web_address(text: str) -> bool:
    try:
        url = httpx2.URL(text)
    except (httpx2.InvalidURL, UnicodeError):
        return False
    is_port = url.port is None or 0 < url.port <= _LAST_PORT
    return url.scheme in {"http", "https"} and bool(url.host) and is_port


def _minimal(environment: Mapping[str, str]) -> dict[str, str]:
    """What every process gets: where its home and its programs are, and no more."""
    names = [name for name in DEFAULT_INHERITED_ENV_VARS if name in environment]
    # Bash puts functions into variables; they are code, not settings.
    return {name: environment[name] for name in names if not environment[name].startswith("()")}


def _maybe_secret(values: list[str]) -> list[str]:
    return [value for value in values if len(value) >= _SHORTEST_WRITTEN_SECRET]


UpstreamSpec = Annotated[StdioSpec | HttpSpec, Field(discriminator="transport")]
_ADAPTER: TypeAdapter[StdioSpec | HttpSpec] = TypeAdapter(UpstreamSpec)


def read_spec(spec: JsonObject) -> StdioSpec | HttpSpec:
    """The typed settings.

    Raises:
        ToolError: `invalid_settings`, naming the key.
    """
    try:
        return _ADAPTER.validate_python(spec)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "their top"
        raise ToolError(
            INVALID_SETTINGS,
            f"the settings of the source are wrong at {where}: "
            f"{first['msg'].removeprefix('Value error, ')}",
            ErrorKind.NEEDS_HUMAN,
        ) from error
