"""Proxies in front of the endpoint: what they say about the request is believed if they are listed.

`X-Forwarded-Host`, `-Proto` and `-For` of anybody else are taken away before anyone reads them.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import ASGIApp, Receive, Scope, Send

    Network = ipaddress.IPv4Network | ipaddress.IPv6Network
    Header = tuple[bytes, bytes]

_FORWARDED: Final = (b"x-forwarded-", b"forwarded")
_HOST: Final = b"x-forwarded-host"
_PROTO: Final = b"x-forwarded-proto"
_FOR: Final = b"x-forwarded-for"


def read_networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """The networks of `--trusted-proxy`.

    Raises:
        ToolError: `invalid_settings`, naming the entry.
    """
    networks = []
    for text in texts:
        try:
            networks.append(ipaddress.ip_network(text, strict=False))
        except ValueError as error:
            raise ToolError(
                INVALID_SETTINGS,
                f"--trusted-proxy {text!r} is not an address or network like 127.0.0.1 or "
                "10.0.0.0/8",
            ) from error
    return tuple(networks)


class TrustedProxies:
    """A layer that puts what trusted proxies say into the request, and drops what others say."""

    def __init__(self, app: ASGIApp, networks: Iterable[Network]) -> None:
        self._app = app
        self._networks = tuple(networks)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http" and any(
            name.startswith(_FORWARDED) for name, _ in scope["headers"]
        ):
            scope = self._told(scope)
        await self._app(scope, receive, send)

    def _told(self, scope: Scope) -> Scope:
        kept: list[Header] = []
        said: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            if name.startswith(_FORWARDED):
                said.setdefault(name, []).append(value)
            else:
                kept.append((name, value))
        told: Scope = {**scope, "headers": kept}
        peer = scope.get("client")
        if peer is None or not self._trusts(peer[0]):
            return told
        if host := _last(said.get(_HOST)):
            told["headers"] = [(b"host", host), *((n, v) for n, v in kept if n != b"host")]
        if (proto := _last(said.get(_PROTO)).lower()) in {b"http", b"https"}:
            told["scheme"] = proto.decode()
        told["client"] = (self._client(said.get(_FOR, []), peer[0]), 0)
        return told

    def _client(self, said: list[bytes], peer: str) -> str:
        """The nearest address that is not one of our proxies: what is left of it may be made up."""
        hops = [hop.strip() for line in said for hop in line.decode("latin-1").split(",")]
        for hop in reversed(hops):
            if not _is_address(hop):
                return peer
            if not self._trusts(hop):
                return hop
            peer = hop
        return peer

    def _trusts(self, address: str) -> bool:
        try:
            parsed = ipaddress.ip_address(address)
        except ValueError:
            return False
        mapped = getattr(parsed, "ipv4_mapped", None)
        return any((mapped or parsed) in network for network in self._networks)


def _last(values: list[bytes] | None) -> bytes:
    """What the nearest proxy said; each appends to what it was told."""
    return values[-1].rpartition(b",")[2].strip() if values else b""


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
