"""The settings of an endpoint: from the command line, else from a `crib.toml`, else the usual."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from toolcrib_adapters.outbound.addresses import Reach

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolcrib_adapters.declarations.reading import DeclaredCrib
    from toolcrib_adapters.settings import CribSettings

_MIB: Final = 1024 * 1024


def declared_settings(declared: DeclaredCrib, is_given: Callable[[str], bool]) -> dict[str, object]:
    """The settings of `HttpSettings` that a file says and the command line does not.

    Args:
        declared: what the file says.
        is_given: whether the command line has an option, by the name of its parameter.
    """
    limits, policies = declared.limits, declared.policies
    body = None if limits.body_mib is None else limits.body_mib * _MIB
    said = (
        ("allowed_host", "allowed_hosts", policies.allowed_hosts),
        ("allowed_origin", "allowed_origins", policies.allowed_origins),
        ("trusted_proxy", "trusted_proxies", policies.trusted_proxies),
        ("public_url", "public_url", policies.public_url),
        ("body_limit", "most_body_bytes", body),
        ("max_requests", "most_requests", limits.max_requests),
        ("max_sessions", "most_sessions", limits.max_sessions),
        ("session_idle", "idle_seconds", limits.session_idle_seconds),
        ("drain", "drain_seconds", limits.drain_seconds),
    )
    return {
        setting: value
        for option, setting, value in said
        if value not in {None, ()} and not is_given(option)
    }


def with_reach(declared: DeclaredCrib, settings: CribSettings) -> CribSettings:
    """The settings with the address policy of the file; of the two the stricter one holds."""
    asked = declared.policies.upstream_addresses
    if asked is None:
        return settings
    strictest_first = list(Reach)
    stricter = min(asked, settings.upstream_addresses, key=strictest_first.index)
    return replace(settings, upstream_addresses=stricter)
