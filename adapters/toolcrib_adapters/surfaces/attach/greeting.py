"""The first line each way on a crib's local socket: what a client wants, and what it gets.

After it, a client that attached speaks MCP as on standard streams, a line a message. Both lines may
come from another version of toolcrib: unknown keys are passed over.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Final, Literal

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

WIRE: Final = 1
"""The form of these lines; a crib of another form cannot be attached to."""
RETIRING: Final = b'{"toolcrib":"retiring"}'
"""A crib that is told to end says this line between messages. Nothing new is to be sent to it; it
ends when its client has closed its side, which is when everything that ran has been answered."""
GREETING_SECONDS: Final = 10.0


class Wish(BaseModel):
    """What a client wants of a running crib.

    Attributes:
        wire: see `WIRE`.
        version: the client's toolcrib.
        ask: `attach` speaks MCP; `status` asks who is there; `retire` asks a crib that clients
            started to end; `call` calls one tool, which the next line names.
        database: which database the client's settings name, as a digest.
        settings: what else they say, by the variables that set it.
        group: of the endpoint, as `--group`.
        profile: of the endpoint, as `--profile`.
        mode: of the endpoint, as `--mode`.
        publishes: whether `toolcrib/publish` is carried out for this client.
    """

    model_config = ConfigDict(frozen=True)

    wire: int = WIRE
    version: str = ""
    ask: Literal["attach", "status", "retire", "call"] = "attach"
    database: str = ""
    settings: dict[str, str] = {}
    group: str | None = None
    profile: str | None = None
    mode: str | None = None
    publishes: bool = False


class Welcome(BaseModel):
    """What a running crib answers.

    Attributes:
        wire: see `WIRE`.
        version: the crib's toolcrib.
        pid: its process.
        kind: `stdio` if clients started it (it ends with the last of them), else `http`.
        url: where it is served over HTTP.
        settings: what else it was started with, by the variables that set it.
        counts: how much there is, in words.
        clients: how many are attached.
        salt: makes the digests useless elsewhere.
        variables: the environment variables that its sources use, with digests of their values;
            None where one is not set.
        refusal: why it cannot be attached to.
        may_run_alone: whether a client that was refused may run a crib of its own instead.
    """

    model_config = ConfigDict(frozen=True)

    wire: int = WIRE
    version: str = ""
    pid: int = 0
    kind: Literal["stdio", "http"] = "stdio"
    url: str | None = None
    settings: dict[str, str] = {}
    counts: str = ""
    clients: int = 0
    salt: str = ""
    variables: dict[str, str | None] = {}
    refusal: str | None = None
    may_run_alone: bool = False


def digest(text: str, salt: str = "") -> str:
    """Tells whether two texts are the same without saying what they are."""
    return hmac.digest(salt.encode(), text.encode("utf-8", "surrogateescape"), "sha256").hex()[:32]


def digests(
    names: Iterable[str], environment: Mapping[str, str], salt: str
) -> dict[str, str | None]:
    """The digest of each variable's value; None for one that is not set."""
    return {
        name: digest(environment[name], salt) if name in environment else None for name in names
    }


def differing(welcome: Welcome, environment: Mapping[str, str]) -> list[str]:
    """The variables that sources of a crib use and whose values are others here."""
    mine = digests(welcome.variables, environment, welcome.salt)
    return sorted(name for name, value in mine.items() if value != welcome.variables[name])


def otherwise_set(welcome: Welcome, wish: Wish) -> list[str]:
    """The settings that a crib was started with and that are others here, in words."""
    return [
        f"{name}={welcome.settings[name]}"
        for name in sorted(welcome.settings)
        if welcome.settings[name] != wish.settings.get(name, welcome.settings[name])
    ]
