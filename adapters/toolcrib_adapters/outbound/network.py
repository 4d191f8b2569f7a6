"""Opens connections of HTTP clients to addresses that were checked, and to no others.

The name is resolved here and the connection goes to the very address that was judged, so a name
that means something else a moment later changes nothing. Behind a proxy of the environment the
proxy resolves; then only addresses that are written out are judged.
"""

from __future__ import annotations

import socket
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final
from urllib.request import getproxies

import anyio
import httpcore2
import httpx2

from toolcrib_adapters.outbound.addresses import literal, refusal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolcrib_adapters.outbound.addresses import Reach

_RESOLVE_SECONDS: Final = 10.0
_NEXT_SECONDS: Final = 2.0
"""How long an address may take before the next one is tried."""


def check_addresses(client: httpx2.AsyncClient, reach: Reach) -> None:
    """Let `client` connect to addresses within `reach` only.

    Uses private names of httpx2 2.x, which has no public way to give a transport its network; the
    tests of O-31 notice if they change.
    """
    client._transport._pool._network_backend = _CheckedNetwork(reach)  # type: ignore[attr-defined]  # noqa: SLF001


def check_written_address(url: httpx2.URL, reach: Reach) -> None:
    """Judge a URL whose host is an address, in any spelling.

    Raises:
        httpx2.ConnectError: it is not within `reach`.
    """
    address = literal(url.host)
    reason = None if address is None else refusal(address, reach)
    if reason is not None:
        raise httpx2.ConnectError(_refused(url.host, str(address), reason))


class _CheckedNetwork(httpcore2.AsyncNetworkBackend):
    """The network of httpcore, with resolving and judging in front."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._network = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """A connection to the first address of `host` that is allowed and answers.

        Raises:
            httpcore2.ConnectError: none is allowed, or none answers.
        """
        allowed = await allowed_addresses(host, port, self._reach)
        # An address that leads nowhere, as IPv6 often does, must not eat the others' time.
        brief = _NEXT_SECONDS if timeout is None else min(timeout, _NEXT_SECONDS)
        for address in allowed[:-1]:
            try:
                return await self._network.connect_tcp(
                    address, port, brief, local_address, socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return await self._network.connect_tcp(
            allowed[-1], port, timeout, local_address, socket_options
        )

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ARG002 - the base's signature
        socket_options: Iterable[Any] | None = None,  # noqa: ARG002 - the base's signature
    ) -> httpcore2.AsyncNetworkStream:
        """Refused: a URL never means a file.

        Raises:
            httpcore2.ConnectError: always.
        """
        raise httpcore2.ConnectError(f"{path!r} is a file of this machine")

    async def sleep(self, seconds: float) -> None:
        """Wait, between attempts."""
        await anyio.sleep(seconds)


async def allowed_addresses(host: str, port: int, reach: Reach) -> list[str]:
    """The addresses of `host` that may be connected to, in the order in which to try them.

    Raises:
        httpcore2.ConnectError: there is none.
        httpcore2.ConnectTimeout: they were not found in time.
    """
    try:
        with anyio.fail_after(_RESOLVE_SECONDS):
            meant = literal(host) or host
            found = await anyio.getaddrinfo(meant, port, type=socket.SOCK_STREAM)
    except TimeoutError as error:
        text = f"the address of {host!r} was not found within {_RESOLVE_SECONDS:g} s"
        raise httpcore2.ConnectTimeout(text) from error
    except (OSError, UnicodeError) as error:
        raise httpcore2.ConnectError(f"{host!r} has no address: {error}") from error
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    reasons = {address: refusal(address, reach) for address in addresses}
    allowed = [address for address in addresses if reasons[address] is None]
    if not allowed:
        address = addresses[0]
        raise httpcore2.ConnectError(_refused(host, address, str(reasons[address])))
    return _families_in_turn(allowed)


def is_proxied(url: str) -> bool:
    """Whether the environment names a proxy for requests to `url`.

    Uses private names of httpx2 2.x: which hosts go around a proxy is for it to say.
    """
    named = getproxies()
    if not any(named.get(scheme) for scheme in ("http", "https", "all")):
        return False
    client = httpx2.AsyncClient()
    return client._transport_for_url(httpx2.URL(url)) is not client._transport  # noqa: SLF001 - as above


def _families_in_turn(addresses: list[str]) -> list[str]:
    """The addresses, those of IPv4 and IPv6 one after the other, beginning as they come."""
    begins_long = ":" in addresses[0]
    first = [address for address in addresses if (":" in address) is begins_long]
    second = [address for address in addresses if (":" in address) is not begins_long]
    pairs = zip_longest(first, second)
    return [address for pair in pairs for address in pair if address is not None]


def _refused(host: str, address: str, reason: str) -> str:
    named = f"{host!r}" if host == address else f"{host!r} ({address})"
    return f"not connected to {named}: it is {reason}"
