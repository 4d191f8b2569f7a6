"""Which addresses are connected to: judged as they are meant, whatever their spelling."""

from __future__ import annotations

import pytest

from toolcrib_adapters.outbound.addresses import Reach, literal, refusal

CREDENTIALS = "an address where clouds keep credentials, which is never connected to"


@pytest.mark.promise("field-o31-addresses")
@pytest.mark.parametrize("reach", list(Reach))
@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "169.254.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::1",
        "::169.254.169.254",
        "fe80::1",
        "fe80::1%eth0",
        "fd00:ec2::254",
        "fd20:ce::254",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
    ],
)
def test_where_clouds_keep_credentials_nobody_connects(address: str, reach: Reach) -> None:
    assert refusal(address, reach) == CREDENTIALS


@pytest.mark.promise("field-o31-addresses")
@pytest.mark.parametrize(
    "address", ["0.0.0.0", "::", "0.1.2.3", "224.0.0.1", "ff02::1", "255.255.255.255"]
)
def test_what_is_no_machine_is_not_connected_to(address: str) -> None:
    assert refusal(address, Reach.LOCAL) == "no address of a single machine"


@pytest.mark.promise("field-o31-addresses")
@pytest.mark.parametrize(
    ("address", "least"),
    [
        ("93.184.216.34", Reach.PUBLIC),
        ("2606:2800:220:1:248:1893:25c8:1946", Reach.PUBLIC),
        ("10.1.2.3", Reach.LAN),
        ("172.16.0.1", Reach.LAN),
        ("192.168.1.1", Reach.LAN),
        ("100.64.0.1", Reach.LAN),
        ("fd12:3456::1", Reach.LAN),
        ("::ffff:10.0.0.1", Reach.LAN),
        ("2001:0:0:0:0:0:f5ff:fffe", Reach.LAN),  # Teredo of 10.0.0.1
        ("127.0.0.1", Reach.LOCAL),
        ("127.9.9.9", Reach.LOCAL),
        ("::1", Reach.LOCAL),
        ("::ffff:127.0.0.1", Reach.LOCAL),
        ("64:ff9b::7f00:1", Reach.LOCAL),
    ],
)
def test_each_reach_goes_as_far_as_it_says(address: str, least: Reach) -> None:
    order = [Reach.PUBLIC, Reach.LAN, Reach.LOCAL]
    allowed = [reach for reach in order if refusal(address, reach) is None]
    assert allowed == order[order.index(least) :]
    refused = [refusal(address, reach) for reach in order if reach not in allowed]
    assert all("TOOLCRIB_UPSTREAM_ADDRESSES" in str(text) for text in refused)


@pytest.mark.promise("field-o31-addresses")
@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("169.254.169.254", "169.254.169.254"),
        ("169.254.169.254.", "169.254.169.254"),
        ("2852039166", "169.254.169.254"),
        ("0xa9fea9fe", "169.254.169.254"),
        ("0251.0376.0251.0376", "169.254.169.254"),
        ("169.254.43518", "169.254.169.254"),
        ("[::1]", "::1"),
        ("fe80::1%eth0", "fe80::1"),
        ("127.1", "127.0.0.1"),
    ],
)
def test_an_address_is_known_in_every_spelling(host: str, address: str) -> None:
    assert literal(host) == address


@pytest.mark.parametrize(
    "host", ["example.org", "metadata.google.internal.", "a\u0661.example", ""]
)
def test_a_name_is_no_address(host: str) -> None:
    assert literal(host) is None
