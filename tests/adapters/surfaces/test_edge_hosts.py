"""Under which names the endpoint answers, for which pages, and whom it believes about that."""

from __future__ import annotations

import logging

import httpx2
import pytest

from tests.adapters.surfaces.bench import Bench
from tests.adapters.surfaces.doors import over_http, post, raw_request
from tests.adapters.surfaces.old_client import ACCEPT, HELLO
from toolcrib_adapters.surfaces.edge.hosts import HostRules
from toolcrib_adapters.surfaces.edge.proxies import TrustedProxies, read_networks
from toolcrib_adapters.surfaces.http_app import HttpSettings
from toolcrib_protocol.errors import ToolError

OUTSIDE = HttpSettings(
    port=0,
    allowed_hosts=("crib.example.org", "exact.example.org:8443", "ports.example.org:*"),
    allowed_origins=("https://app.example.org", "http://tool.localhost:*"),
    public_url="https://gw.example.com/crib",
)


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("host", "evil.example", 421),
        ("host", "127.0.0.1.evil.example", 421),
        ("host", "crib.example.org.evil.example", 421),
        ("host", "crib.example.org:80:80", 421),
        ("host", "exact.example.org", 421),
        ("host", "", 421),
        ("host", "crib.example.org", 200),
        ("host", "CRIB.Example.ORG:8443", 200),
        ("host", "exact.example.org:8443", 200),
        ("host", "ports.example.org:1", 200),
        ("host", "gw.example.com", 200),
        ("host", "[::1]:99", 200),
        ("origin", "https://evil.example", 403),
        ("origin", "null", 403),
        ("origin", "https://app.example.org.evil.example", 403),
        ("origin", "http://localhost.evil.example", 403),
        ("origin", "https://app.example.org", 200),
        ("origin", "http://tool.localhost:6274", 200),
        ("origin", "https://gw.example.com", 200),
        ("origin", "http://localhost:6274", 200),
    ],
)
@pytest.mark.promise("field-o27-hosts")
async def test_only_known_hosts_and_origins_reach_the_tools(
    header: str, value: str, status: int
) -> None:
    bench = await Bench.open()
    async with over_http(bench.server(), OUTSIDE) as url, httpx2.AsyncClient() as http:
        modern = await post(http, url, raw_request("tools/list", {}), **{header: value})
        legacy = await http.post(url, json=HELLO, headers={**ACCEPT, header: value})
    assert (modern.status_code, legacy.status_code) == (status, status)


@pytest.mark.promise("field-o27-hosts")
async def test_a_refusal_tells_the_log_the_value_and_the_setting(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench = await Bench.open()
    caplog.set_level(logging.WARNING)
    async with over_http(bench.server()) as url, httpx2.AsyncClient() as http:
        request = raw_request("tools/list", {})
        for _ in range(3):
            host = await post(http, url, request, host="gw.example.com")
        origin = await post(http, url, request, origin="https://app.example.org")
    told = [record.getMessage() for record in caplog.records if "refused" in record.getMessage()]
    assert len(told) == 2  # each once
    assert "'gw.example.com'" in told[0]
    assert "--allowed-host" in told[0]
    assert "'https://app.example.org'" in told[1]
    assert "--allowed-origin" in told[1]
    assert "--allowed-host" in host.json()["error"]["message"]
    assert "--allowed-origin" in origin.json()["error"]["message"]


@pytest.mark.promise("field-o27-hosts")
async def test_forwarded_headers_count_only_from_listed_proxies() -> None:
    bench = await Bench.open()
    request = raw_request("tools/list", {})
    evil = {"x-forwarded-host": "evil.example"}
    ours = {"host": "inner", "x-forwarded-host": "gw.example.com", "x-forwarded-proto": "https"}
    async with over_http(bench.server(), OUTSIDE) as url, httpx2.AsyncClient() as http:
        ignored = await post(http, url, request, **evil)
        not_believed = await post(http, url, request, **ours)
    settings = HttpSettings(
        port=0, public_url="https://gw.example.com", trusted_proxies=("127.0.0.0/8",)
    )
    async with over_http(bench.server(), settings) as url, httpx2.AsyncClient() as http:
        believed = await post(http, url, request, **ours)
        refused = await post(http, url, request, **evil)
        nearest = await post(
            http, url, request, **{"x-forwarded-host": "evil.example, gw.example.com"}
        )
    assert [r.status_code for r in (ignored, not_believed)] == [200, 421]
    assert [r.status_code for r in (believed, refused, nearest)] == [200, 421, 200]


@pytest.mark.parametrize(
    ("peer", "said", "client", "scheme"),
    [
        (
            "10.0.0.1",
            {"x-forwarded-for": "9.9.9.9", "x-forwarded-proto": "https"},
            "9.9.9.9",
            "https",
        ),
        ("10.0.0.1", {"x-forwarded-for": "6.6.6.6, 9.9.9.9, 10.0.0.2"}, "9.9.9.9", "http"),
        ("::ffff:10.0.0.1", {"x-forwarded-for": "9.9.9.9"}, "9.9.9.9", "http"),
        ("10.0.0.1", {"x-forwarded-for": "made up, 10.0.0.2"}, "10.0.0.2", "http"),
        ("10.0.0.1", {"x-forwarded-proto": "gopher", "forwarded": "for=1"}, "10.0.0.1", "http"),
        (
            "8.8.8.8",
            {"x-forwarded-for": "9.9.9.9", "x-forwarded-proto": "https"},
            "8.8.8.8",
            "http",
        ),
    ],
)
@pytest.mark.promise("field-o27-hosts")
async def test_the_client_is_the_nearest_address_that_is_no_proxy_of_ours(
    peer: str, said: dict[str, str], client: str, scheme: str
) -> None:
    from starlette.requests import Request

    seen: list[Request] = []

    async def app(scope: object, receive: object, send: object) -> None:
        assert isinstance(scope, dict)
        seen.append(Request(scope))

    headers = [(name.encode(), value.encode()) for name, value in said.items()]
    scope = {"type": "http", "client": (peer, 1), "scheme": "http", "headers": headers}
    layer = TrustedProxies(app, read_networks(["10.0.0.0/24"]))
    await layer(scope, None, None)  # type: ignore[arg-type]
    assert seen[0].client is not None
    assert (seen[0].client.host, seen[0].scope["scheme"]) == (client, scheme)
    assert not seen[0].headers


async def test_the_address_that_a_connection_came_in_on_is_a_name_of_the_endpoint() -> None:
    rules = HostRules.of("0.0.0.0")
    assert rules.admit_host("192.168.7.7:8765", "192.168.7.7")
    assert rules.admit_host("192.168.7.7", "::ffff:192.168.7.7")
    assert rules.admit_host("[fd00::7]:8765", "fd00::7")
    assert not rules.admit_host("192.168.7.8:8765", "192.168.7.7")
    assert not rules.admit_host("", "")


@pytest.mark.promise("field-o27-hosts")
async def test_pages_of_listed_origins_may_read_answers_and_others_may_not() -> None:
    bench = await Bench.open()
    preflight = {
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type, mcp-protocol-version",
    }
    async with over_http(bench.server(), OUTSIDE) as url, httpx2.AsyncClient() as http:
        listed = {"origin": "https://app.example.org"}
        asked = await http.options(url, headers={**preflight, **listed})
        answered = await post(http, url, raw_request("tools/list", {}), **listed)
        own = {"origin": "http://localhost:3000"}
        not_asked = await http.options(url, headers={**preflight, **own})
        unread = await post(http, url, raw_request("tools/list", {}), **own)
    assert asked.status_code == 200
    for response in (asked, answered):
        assert response.headers["access-control-allow-origin"] == "https://app.example.org"
    assert answered.headers["access-control-expose-headers"] == "Mcp-Session-Id, Retry-After"
    for response in (not_asked, unread):
        assert "access-control-allow-origin" not in response.headers


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"allowed_hosts": ("https://crib.example.org",)}, "--allowed-host 'https"),
        ({"allowed_hosts": ("*.example.org",)}, "no other wildcard"),
        ({"allowed_hosts": ("",)}, "--allowed-host ''"),
        ({"allowed_origins": ("crib.example.org",)}, "--allowed-origin 'crib"),
        ({"allowed_origins": ("https://crib.example.org/",)}, "is not an origin"),
        ({"allowed_origins": ("https://*.example.org",)}, "list each origin"),
        ({"allowed_origins": ("*",)}, "is not an origin"),
        ({"trusted_proxies": ("proxy.example.org",)}, "--trusted-proxy 'proxy"),
        ({"public_url": "crib.example.org"}, "--public-url 'crib"),
        ({"public_url": "https://[x/"}, "--public-url"),
        ({"public_url": "https://me@crib.example.org"}, "--public-url"),
        ({"public_url": "https://crib.example.org/?a=1"}, "--public-url"),
        ({"public_url": "ftp://crib.example.org"}, "--public-url"),
    ],
)
def test_a_setting_that_cannot_work_is_refused_with_an_example(
    settings: dict[str, tuple[str, ...]], words: str
) -> None:
    with pytest.raises(ToolError) as refusal:
        HttpSettings(**settings).rules()  # type: ignore[arg-type]
    assert refusal.value.code == "invalid_settings"
    assert words in refusal.value.message


@pytest.mark.parametrize(
    ("settings", "is_local"),
    [
        (HttpSettings(), True),
        (HttpSettings("::1", allowed_origins=("https://app.example.org",)), True),
        (HttpSettings("0.0.0.0"), False),
        (HttpSettings(public_url="https://crib.example.org"), False),
        (HttpSettings(trusted_proxies=("127.0.0.1",)), False),
        (HttpSettings(allowed_hosts=("crib.example.org",)), False),
    ],
    ids=["loopback", "a page", "any address", "a public name", "a proxy", "another name"],
)
@pytest.mark.promise("edge-publish-behind-proxy")
def test_an_endpoint_that_others_can_reach_is_not_local(
    settings: HttpSettings, is_local: bool
) -> None:
    assert settings.is_local is is_local
