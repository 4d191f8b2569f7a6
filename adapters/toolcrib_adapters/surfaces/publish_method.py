"""`toolcrib/publish`: the JSON-RPC method that registers tools from outside at run time.

Not a tool, so no model ever sees it. Who may use it is decided where the server is composed:
without a publisher the method answers with a refusal that says how to allow it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, Protocol

from mcp.shared.exceptions import MCPError
from mcp_types import RequestParams
from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError, model_validator

from toolcrib_protocol.errors import INVALID_ARGUMENTS, NOT_PERMITTED, ToolError

if TYPE_CHECKING:
    from typing import Self

    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.publishing import PublishReceipt


PUBLISH: Final = "toolcrib/publish"
REFUSED: Final = 1
"""JSON-RPC code of a refused publication; `data` holds the error as `{code, message, kind,
details?}`.
"""


class PublishWish(BaseModel):
    """What is to be published: entries (contracts or raw tools), or a Python target."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    kind: Literal["snapshot", "python"]
    entries: list[JsonValue] | None = None
    target: str | None = None

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        given = self.entries is not None, self.target is not None
        if given != ((True, False) if self.kind == "snapshot" else (False, True)):
            raise ValueError("kind 'snapshot' takes `entries`, kind 'python' takes `target`")
        return self


class Publisher(Protocol):
    """Carries out publications."""

    async def __call__(self, wish: PublishWish) -> PublishReceipt:
        """Publish, and say what became of each tool.

        Raises:
            ToolError: it cannot be published.
        """
        ...


class PublishParams(RequestParams):
    """The parameters as they arrive; they are read into a `PublishWish`."""

    model_config = ConfigDict(extra="allow")

    def wish(self) -> PublishWish:
        """The wish they write.

        Raises:
            ToolError: `invalid_arguments`, naming the parameter.
        """
        try:
            return PublishWish.model_validate(self.model_extra or {})
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = "/".join(str(part) for part in first["loc"])
            raise ToolError(
                INVALID_ARGUMENTS, f"{PUBLISH}: {where or 'parameters'}: {first['msg']}"
            ) from error


async def published(publisher: Publisher | None, params: PublishParams) -> JsonObject:
    """The answer of the method.

    Raises:
        MCPError: the publication is refused; `data` is the error as JSON.
    """
    try:
        receipt = await _permitted(publisher)(params.wish())
    except ToolError as error:
        raise MCPError(REFUSED, error.message, error.as_json()) from error
    return as_json(receipt)


def _permitted(publisher: Publisher | None) -> Publisher:
    if publisher is None:
        raise ToolError(
            NOT_PERMITTED,
            "this crib does not accept publications over its address; start it on a loopback "
            "address, or with `toolcrib serve --allow-publish`",
        )
    return publisher


def as_json(receipt: PublishReceipt) -> JsonObject:
    """The receipt as the method answers it."""
    return {
        "published": [
            {
                "reference": tool.reference,
                "published_name": tool.published_name,
                "status": tool.status,
            }
            for tool in receipt.published
        ],
        "quarantined": [
            {"name": entry.name, "pointer": entry.pointer, "reason": entry.reason}
            for entry in receipt.quarantined
        ],
        "revision": receipt.revision,
    }
