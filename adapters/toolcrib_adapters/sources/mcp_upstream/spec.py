"""The settings of an MCP upstream, as they are stored, and expanded for one connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from toolcrib_adapters.expansion import Secrets, expand
from toolcrib_protocol.errors import INVALID_SETTINGS, ErrorKind, ToolError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolcrib_protocol.json_value import JsonObject


class _Limits(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    connect_timeout_seconds: float = Field(default=60.0, gt=0, le=600)
    """Some servers take 22 s to their first answer."""


class StdioSpec(_Limits):
    """A server that is started as a process; command and arguments are a list and never split again."""

    transport: Literal["stdio"]
    command: str = Field(min_length=1)
    args: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    inherit_env: tuple[str, ...] = ()
    cwd: str | None = None

    def expanded(self, environment: Mapping[str, str]) -> tuple[StdioSpec, Secrets]:
        """The settings with variables filled in, and what must not be shown."""
        env = {name: expand(value, environment) for name, value in self.env.items()}
        inherited = {name: environment[name] for name in self.inherit_env if name in environment}
        args = tuple(expand(arg, environment) for arg in self.args)
        secrets = [*env.values(), *inherited.values(), *(a for a in args if a not in self.args)]
        changes = {
            "command": expand(self.command, environment),
            "args": args,
            "env": {**inherited, **env},
            "cwd": None if self.cwd is None else expand(self.cwd, environment),
        }
        return self.model_copy(update=changes), Secrets(secrets)


class HttpSpec(_Limits):
    """A server at an address."""

    transport: Literal["http", "sse"]
    url: str = Field(pattern=r"^(https?://|\$\{)")
    headers: dict[str, str] = Field(default_factory=dict)

    def expanded(self, environment: Mapping[str, str]) -> tuple[HttpSpec, Secrets]:
        """The settings with variables filled in, and what must not be shown."""
        headers = {name: expand(value, environment) for name, value in self.headers.items()}
        url = expand(self.url, environment)
        secrets = [*headers.values(), *(v.split(" ", 1)[-1] for v in headers.values())]
        if url != self.url:
            secrets.append(url)
        return self.model_copy(update={"url": url, "headers": headers}), Secrets(secrets)


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
        first = error.errors(include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ToolError(
            INVALID_SETTINGS, f"the settings of the source are wrong at {where}: {first['msg']}",
            ErrorKind.NEEDS_HUMAN,
        ) from error
