"""Under which names clients may address the endpoint, and from which web pages they may ask.

Protection against DNS rebinding: a web page that makes its own name resolve to this machine still
sends that name. Pure rules; `host_check.py` applies them.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError

if TYPE_CHECKING:
    from collections.abc import Iterable

LOOPBACK_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")
_ANY_PORT: Final = ":*"
_MAPPED: Final = "::ffff:"
"""How a socket for both families writes addresses of IPv4."""


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach `host`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Names:
    """A set of names, exact or with any port (`crib.example.org:*`); case does not matter."""

    exact: frozenset[str]
    any_port: frozenset[str]

    @classmethod
    def of(cls, patterns: Iterable[str]) -> Names:
        """The names that `patterns` admit."""
        lower = [pattern.lower() for pattern in patterns]
        return cls(
            frozenset(name for name in lower if not name.endswith(_ANY_PORT)),
            frozenset(name.removesuffix(_ANY_PORT) for name in lower if name.endswith(_ANY_PORT)),
        )

    def admit(self, value: str) -> bool:
        """Whether `value` is one of them."""
        name = value.lower()
        if name in self.exact:
            return True
        front, _, port = name.rpartition(":")
        return port.isdigit() and front in self.any_port


@dataclass(frozen=True, slots=True)
class HostRules:
    """Which Host and which Origin a request may carry.

    Attributes:
        hosts: names of the endpoint.
        origins: web pages that may ask, as `scheme://name`.
        listed_origins: those among them that an operator listed: browsers may read our answers
            there.
    """

    hosts: Names
    origins: Names
    listed_origins: Names

    @classmethod
    def of(
        cls,
        host: str,
        allowed_hosts: Iterable[str] = (),
        allowed_origins: Iterable[str] = (),
        public_url: str = "",
    ) -> HostRules:
        """The rules of an endpoint that listens on `host`.

        Loopback names and `host` itself are always admitted, at any port.

        Raises:
            ToolError: `invalid_settings`, naming the entry.
        """
        named = [_checked_host(name) for name in allowed_hosts]
        public = [urlsplit(public_url).netloc] if public_url else []
        hosts = [
            form
            for name in [*LOOPBACK_NAMES, _bracketed(host), *named, *public]
            for form in _with_any_port(name)
        ]
        listed = [
            form for origin in allowed_origins for form in _with_any_port(_checked_origin(origin))
        ]
        own = [f"{scheme}://{name}" for name in hosts for scheme in ("http", "https")]
        return cls(Names.of(hosts), Names.of([*own, *listed]), Names.of(listed))

    def admit_host(self, value: str, local_address: str) -> bool:
        """Whether a request may carry this Host.

        Args:
            value: the header.
            local_address: the address that the connection came in on. A client that names just
                that was not led here by a name, so it passes.
        """
        here = local_address.removeprefix(_MAPPED)
        return self.hosts.admit(value) or (here != "" and _bare(value) == here)

    def admit_origin(self, value: str) -> bool:
        """Whether a page of this origin may ask."""
        return self.origins.admit(value)


def checked_public_url(url: str) -> str:
    """The address under which clients reach the endpoint, without a slash at its end.

    Raises:
        ToolError: `invalid_settings` if it is no address of the web.
    """
    try:
        parts = urlsplit(url)
        fits = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        fits = False
    if not fits or parts.query or parts.fragment or "@" in parts.netloc:
        raise ToolError(
            INVALID_SETTINGS,
            f"--public-url {url!r} is not an address like https://crib.example.org or "
            "https://example.org/crib",
        )
    return url.rstrip("/")


def _checked_host(name: str) -> str:
    if not name or "/" in name or "*" in name.removesuffix(_ANY_PORT) or " " in name:
        raise ToolError(
            INVALID_SETTINGS,
            f"--allowed-host {name!r} is not a name like crib.example.org, crib.example.org:8443 "
            "or crib.example.org:* (no scheme, no path, no other wildcard)",
        )
    return name


def _checked_origin(origin: str) -> str:
    scheme, separator, name = origin.partition("://")
    if not separator or scheme not in {"http", "https"} or not name or set(name) & set("/ @"):
        raise ToolError(
            INVALID_SETTINGS,
            f"--allowed-origin {origin!r} is not an origin like https://app.example.org, "
            "https://app.example.org:8443 or http://localhost:*",
        )
    if "*" in name.removesuffix(_ANY_PORT):
        raise ToolError(
            INVALID_SETTINGS,
            f"--allowed-origin {origin!r} has a wildcard that is not a port; list each origin",
        )
    return origin


def _with_any_port(name: str) -> tuple[str, ...]:
    if name.endswith(_ANY_PORT):
        return (name, name.removesuffix(_ANY_PORT))
    has_port = name.rpartition(":")[2].isdigit() and not name.endswith("]")
    return (name,) if has_port else (name, f"{name}{_ANY_PORT}")


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _bare(value: str) -> str:
    """A Host header without port and brackets."""
    if value.startswith("["):
        return value[1:].partition("]")[0]
    return value.partition(":")[0]
