"""One address that requests are posted to, and the head that they all begin with.

Pure. What the operator wrote is checked here once: a name or a value that could end a line would
let a header say anything.
"""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote_to_bytes

import httpx2

from toolcrib_adapters.outbound.http_connection import Origin
from toolcrib_adapters.outbound.packed_body import ACCEPTED

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_PORTS: Final = {"http": 80, "https": 443}
_OF_THE_CONNECTION: Final = frozenset({"connection", "content-length", "transfer-encoding"})
_SAME_METHOD: Final = frozenset({307, 308})
_REDIRECTS: Final = frozenset({301, 302, 303, *_SAME_METHOD})


class HeaderError(ValueError):
    """A header that cannot be sent."""


@dataclass(frozen=True, slots=True)
class HttpEndpoint:
    """An address and the headers that go with every request to it.

    Attributes:
        url: the address.
        origin: where connections go.
        line: the first line of a request.
        common: the lines of the headers, by names in lower case.
        block: the first line and all of these lines.
    """

    url: httpx2.URL
    origin: Origin
    line: bytes
    common: Mapping[str, bytes]
    block: bytes

    @classmethod
    def of(cls, url: str, headers: Mapping[str, str], fixed: Mapping[str, str]) -> HttpEndpoint:
        """An endpoint.

        Args:
            url: an address of http or https.
            headers: the operator's, in place of those that would be sent anyway.
            fixed: headers that nobody else has a say in.

        Raises:
            HeaderError: one of the headers cannot be sent.
        """
        common: dict[str, bytes] = {}
        address = httpx2.URL(url)
        given = {"Accept-Encoding": ACCEPTED, **_credentials(address), **headers, **fixed}
        for name, value in given.items():
            if name.lower() not in _OF_THE_CONNECTION:
                common[name.lower()] = header_line(name, value)
        return cls._at(address, common)

    @classmethod
    def _at(cls, url: httpx2.URL, common: Mapping[str, bytes]) -> HttpEndpoint:
        host = url.netloc.rpartition(b"@")[2]
        lines = common if "host" in common else {"host": b"Host: " + host + b"\r\n", **common}
        line = b"POST " + url.raw_path + b" HTTP/1.1\r\n"
        port = url.port or _PORTS[url.scheme]
        origin = Origin(url.scheme == "https", url.raw_host.decode("ascii"), port)
        return cls(url, origin, line, common, line + b"".join(lines.values()))

    def request(self, headers: Mapping[str, str], body: bytes) -> bytes:
        """A whole request.

        Args:
            headers: of this request, in place of common ones of the same name.
            body: what is posted.

        Raises:
            HeaderError: one of the headers cannot be sent.
        """
        own = {name.lower(): header_line(name, value) for name, value in headers.items()}
        block = self.block
        if not self.common.keys().isdisjoint(own):
            others = {name: line for name, line in self.common.items() if name not in own}
            block = self._at(self.url, others).block
        length = b"Content-Length: %d\r\n\r\n" % len(body)
        return b"".join((block, *own.values(), length, body))

    def led_to(self, status: int, location: str | None) -> HttpEndpoint | None:
        """The endpoint to post to instead; None if that is another server, or a GET."""
        target = self.target(status, location)
        if target is None or status not in _SAME_METHOD or not _is_within(self.url, target):
            return None
        if target.userinfo and target.userinfo != self.url.userinfo:
            return None
        return self._at(target, self.common)

    def target(self, status: int, location: str | None) -> httpx2.URL | None:
        """Where an answer redirects to, if it does."""
        if status not in _REDIRECTS or location is None:
            return None
        try:
            target = self.url.join(location)
        except (httpx2.InvalidURL, UnicodeError, ValueError):
            return None
        return target if target.scheme in _PORTS and target.host else None


def shown(url: httpx2.URL) -> str:
    """An address without what may be nobody's to see: user, query and fragment."""
    return str(url.copy_with(userinfo=b"", query=None, fragment=None))


def header_line(name: str, value: str) -> bytes:
    """One line of a request's head.

    Raises:
        HeaderError: it cannot be one.
    """
    if _NAME.fullmatch(name) is None:
        raise HeaderError(f"{name!r} is not the name of a header")
    if _VALUE.fullmatch(value) is None:
        # Not the value: it may be a secret.
        raise HeaderError(f"the value of the header {name} holds characters that cannot be sent")
    return f"{name}: {value.strip()}\r\n".encode("latin-1")


def _credentials(url: httpx2.URL) -> dict[str, str]:
    """The header that stands for `user:password@` in an address."""
    if not url.userinfo:
        return {}
    user, _, password = url.userinfo.partition(b":")
    pair = unquote_to_bytes(user) + b":" + unquote_to_bytes(password)
    return {"Authorization": f"Basic {b64encode(pair).decode('ascii')}"}


def _is_within(url: httpx2.URL, target: httpx2.URL) -> bool:
    """Whether `target` is the same server, or the same under https on the usual ports."""
    if (url.scheme, url.host, url.port) == (target.scheme, target.host, target.port):
        return True
    is_upgrade = url.scheme == "http" and target.scheme == "https"
    return is_upgrade and url.host == target.host and url.port is None and target.port is None
