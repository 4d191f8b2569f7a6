"""The settings of an MCP upstream, as they are stored, and expanded for one connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal

from mcp.client.stdio import DEFAULT_INHERITED_ENV_VARS
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from toolcrib_adapters.expansion import Expansion, Secrets
from toolcrib_protocol.errors import INVALID_SETTINGS, ErrorKind, ToolError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolcrib_protocol.json_value import JsonObject

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


class StdioSpec(_Limits):
    """A server that is started as a process; command and arguments are never split again."""

    transport: Literal["stdio"]
    command: str = Field(min_length=1)
    args: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    inherit_env: tuple[str, ...] = ()
    cwd: str | None = None

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


class HttpSpec(_Limits):
    """A server at an address."""

    transport: Literal["http", "sse"]
    url: str = Field(pattern=r"(?i)^(https?://|\$\{)")
    headers: dict[str, str] = Field(default_factory=dict)

    def expanded(self, environment: Mapping[str, str]) -> tuple[HttpSpec, Secrets]:
        """The settings with variables filled in, and what must not be shown."""
        expansion = Expansion(environment)
        headers = {name: expansion.text(value) for name, value in self.headers.items()}
        changes = {"url": expansion.text(self.url), "headers": headers}
        # `Authorization: Bearer KEY` is often told back without its first word.
        words = [value.split(" ", 1)[-1] for value in headers.values()]
        written = _maybe_secret([*headers.values(), *words])
        return self.model_copy(update=changes), Secrets([*expansion.values, *written])


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
            f"the settings of the source are wrong at {where}: {first['msg']}",
            ErrorKind.NEEDS_HUMAN,
        ) from error
