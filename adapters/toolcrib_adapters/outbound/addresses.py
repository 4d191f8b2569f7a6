"""Which addresses the crib connects to on somebody's word.

Whoever may add a source chooses an address, and the crib stands where that person perhaps does not:
so loopback and the local network are the operator's decision, and addresses where clouds keep
credentials are never connected to. Pure; it judges addresses, never names (`network.py` resolves).
"""

from __future__ import annotations

import ipaddress
import socket
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Reach(StrEnum):
    """How far the crib may connect."""

    PUBLIC = "public"
    """To addresses of the internet only."""
    LAN = "lan"
    """Also to private networks; not to this machine itself."""
    LOCAL = "local"
    """Also to this machine: the crib of a developer."""


_METADATA: Final = frozenset(
    ipaddress.ip_address(address)
    for address in (
        "100.100.100.200",  # Alibaba Cloud
        "168.63.129.16",  # Azure, a public address
        "192.0.0.192",  # Oracle Cloud
        "fd00:ec2::254",  # AWS
        "fd20:ce::254",  # Google Cloud
    )
)
_THIS_NETWORK: Final = ipaddress.ip_network("0.0.0.0/8")
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")
_COMPATIBLE: Final = ipaddress.ip_network("::/96")
_LOW_BITS: Final = 0xFFFFFFFF


def refusal(text: str, reach: Reach) -> str | None:
    """Why an address is not connected to, in words that follow "it is"; None if it may be."""
    address = _meant(ipaddress.ip_address(text.partition("%")[0]))
    if address.is_link_local or address in _METADATA:
        return "an address where clouds keep credentials, which is never connected to"
    if _is_no_host(address):
        return "no address of a single machine"
    if address.is_loopback:
        allowed = reach is Reach.LOCAL
        return None if allowed else _unreached("an address of this machine itself", reach)
    if address.is_global or reach is not Reach.PUBLIC:
        return None
    return _unreached("an address of a private network", reach)


def literal(host: str) -> str | None:
    """The address that a host of a URL is, in any spelling; None if it is a name."""
    bare = host.strip("[]").rstrip(".")
    try:
        return str(ipaddress.ip_address(bare.partition("%")[0]))
    except ValueError:
        pass
    try:
        # What resolvers take for an address, too: 2852039166, 0xa9.254.43518, 0251.0376.0.1
        return socket.inet_ntoa(socket.inet_aton(bare))
    except (OSError, UnicodeEncodeError):
        return None


def _meant(address: Address) -> Address:
    """The IPv4 address inside an IPv6 one that only wraps it."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    inner = address.ipv4_mapped or address.sixtofour
    if inner is None and address.teredo is not None:
        inner = address.teredo[1]
    is_wrapped = address in _NAT64 or (address in _COMPATIBLE and int(address) > 1)
    if inner is None and is_wrapped:
        inner = ipaddress.IPv4Address(int(address) & _LOW_BITS)
    return inner or address


def _is_no_host(address: Address) -> bool:
    if address.is_multicast or address.is_unspecified:
        return True
    if isinstance(address, ipaddress.IPv4Address):
        return address in _THIS_NETWORK or address.is_reserved
    return False


def _unreached(kind: str, reach: Reach) -> str:
    return (
        f"{kind}, and this crib connects to {_WORDS[reach]} only (TOOLCRIB_UPSTREAM_ADDRESSES or "
        f"--upstream-addresses is {reach.value!r})"
    )


_WORDS: Final = {
    Reach.PUBLIC: "addresses of the internet",
    Reach.LAN: "the internet and private networks",
    Reach.LOCAL: "any machine",
}
