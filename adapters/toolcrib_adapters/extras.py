"""The one loader of parts that are heavy or optional.

Everything else is imported at the top of a file. A part that needs a library of an extra, or that a
quick command should not wait for, has a name here; `load` imports it when it is wanted and says
which extra is missing.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, Final

from toolcrib_protocol.errors import MISSING_EXTRA, ToolError


@dataclass(frozen=True, slots=True)
class Part:
    """Where a part is (`module:attribute`), and which extra brings its libraries."""

    target: str
    extra: str = "server"


PARTS: Final[dict[str, Part]] = {
    "cli": Part("toolcrib_adapters.surfaces.cli.app:main"),
    "cli.add": Part("toolcrib_adapters.surfaces.cli.add_command:register"),
    "cli.call": Part("toolcrib_adapters.surfaces.cli.call_command:register"),
    "cli.calls": Part("toolcrib_adapters.surfaces.cli.calls_commands:register"),
    "cli.capture": Part("toolcrib_adapters.surfaces.cli.capture_commands:register"),
    "cli.catalogue": Part("toolcrib_adapters.surfaces.cli.catalogue_commands:register"),
    "cli.declarations": Part("toolcrib_adapters.surfaces.cli.declaration_commands:register"),
    "cli.connect": Part("toolcrib_adapters.surfaces.cli.connect_command:register"),
    "cli.demo": Part("toolcrib_adapters.surfaces.cli.demo_command:register"),
    "cli.doctor": Part("toolcrib_adapters.surfaces.cli.doctor_command:register"),
    "cli.groups": Part("toolcrib_adapters.surfaces.cli.group_commands:register"),
    "cli.import": Part("toolcrib_adapters.surfaces.cli.import_command:register"),
    "cli.overlays": Part("toolcrib_adapters.surfaces.cli.overlay_commands:register"),
    "cli.profile": Part("toolcrib_adapters.surfaces.cli.profile_commands:register"),
    "cli.keys": Part("toolcrib_adapters.surfaces.cli.keys_commands:register"),
    "cli.publish": Part("toolcrib_adapters.surfaces.cli.publish_command:register"),
    "cli.refresh": Part("toolcrib_adapters.surfaces.cli.refresh_command:register"),
    "cli.limits": Part("toolcrib_adapters.surfaces.cli.limits_command:register"),
    "cli.rules": Part("toolcrib_adapters.surfaces.cli.rules_commands:register"),
    "cli.read": Part("toolcrib_adapters.surfaces.cli.read_command:register"),
    "cli.ledger": Part("toolcrib_adapters.surfaces.cli.ledger_commands:register"),
    "cli.search": Part("toolcrib_adapters.surfaces.cli.search_command:register"),
    "cli.serve": Part("toolcrib_adapters.surfaces.cli.serve_command:register"),
    "cli.show": Part("toolcrib_adapters.surfaces.cli.show_command:register"),
    "cli.sources": Part("toolcrib_adapters.surfaces.cli.source_commands:register"),
    "cli.vacuum": Part("toolcrib_adapters.surfaces.cli.vacuum_command:register"),
    "demo": Part("toolcrib_adapters.surfaces.cli.demonstration:demonstrate"),
    "serving.reach": Part("toolcrib_adapters.surfaces.cli.serve_settings:with_reach"),
    "serving.settings": Part("toolcrib_adapters.surfaces.cli.serve_settings:declared_settings"),
    "declarations.apply": Part("toolcrib_adapters.declarations.applying:apply"),
    "declarations.decision": Part("toolcrib_adapters.declarations.applying:decision"),
    "declarations.document": Part("toolcrib_adapters.declarations.exporting:crib_document"),
    "declarations.read": Part("toolcrib_adapters.declarations.applying:read_declared"),
    "declarations.schema": Part("toolcrib_adapters.declarations.document:json_schema"),
    "declarations.text": Part("toolcrib_adapters.declarations.exporting:crib_text"),
    "declarations.followed": Part("toolcrib_adapters.declarations.following:FollowedFile"),
    "serving.endpoint": Part("toolcrib_adapters.surfaces.cli.serving:Endpoint"),
    "serving.http": Part("toolcrib_adapters.surfaces.http_app:HttpSettings"),
    "serving.call": Part("toolcrib_adapters.surfaces.cli.running_crib:called"),
    "serving.publish": Part("toolcrib_adapters.surfaces.cli.running_crib:publish_into"),
    "serving.attach": Part("toolcrib_adapters.surfaces.attach.bridge:bridge"),
    "serving.serve": Part("toolcrib_adapters.surfaces.cli.serving:serve"),
    "client": Part("toolcrib_client:Crib"),
    "contract_documents": Part("toolcrib_adapters.contract_documents:read_contract_document"),
    "store.heads": Part("toolcrib_adapters.stores.sqlite_heads:read_heads"),
    "published_tokens": Part("toolcrib_adapters.surfaces.published_tokens:published_tokens"),
    "store.call_records": Part("toolcrib_adapters.stores.sql.sql_call_records:SqlCallRecords"),
    "store.sealer": Part("toolcrib_adapters.sealing:RingSealer"),
    "vault": Part("toolcrib_registry.handles:Vault"),
    "store.handles": Part("toolcrib_adapters.stores.sql.sql_handles:SqlHandles"),
    "store.limits": Part("toolcrib_adapters.stores.sql.sql_limits:SqlLimits"),
    "store.sql": Part("toolcrib_adapters.stores.sql:open_store"),
    "store.unsound": Part("toolcrib_adapters.stores.sql.health:unsound"),
    "store.sealed_under": Part("toolcrib_adapters.stores.sql.sealed_rows:sealed_under"),
    "store.vacuum": Part("toolcrib_adapters.stores.sql.vacuum:Vacuum"),
    "store.upgrade": Part("toolcrib_adapters.stores.sql.upgrade:upgrade"),
    "search.engine": Part("toolcrib_adapters.search.engine:open_search"),
    "search.late": Part("toolcrib_adapters.search.late_search:LateSearch"),
    "search.onnx_encoder": Part("toolcrib_adapters.search.onnx_encoder:OnnxEncoder"),
    "search.sentence_encoder": Part(
        "toolcrib_adapters.search.sentence_encoder:SentenceEncoder", "sentence-transformers"
    ),
    "supervisor": Part("toolcrib_adapters.sources.supervisor:Supervisor"),
    "call_path": Part("toolcrib_adapters.call_path:call_path"),
    "call_book": Part("toolcrib_registry.call_book:CallBook"),
    "call_captures": Part("toolcrib_registry.captures:Captures"),
    "leases": Part("toolcrib_registry.limits:Leases"),
    "limit_board": Part("toolcrib_registry.limits:LimitBoard"),
    "ledger": Part("toolcrib_registry.ledger:Ledger"),
    "owners": Part("toolcrib_adapters.process_owners:ProcessOwners"),
    "store.ledger": Part("toolcrib_adapters.stores.sql.sql_ledger:SqlLedger"),
    "calls": Part("toolcrib_registry.calls:Calls"),
    "processes.roll": Part("toolcrib_adapters.processes.roll:Roll"),
    "household": Part("toolcrib_adapters.processes.household:Household"),
    "source.habits": Part("toolcrib_adapters.sources.habits:Habits"),
    "source.mcp": Part("toolcrib_adapters.sources.mcp_upstream:McpUpstream"),
    "source.mcp_access": Part("toolcrib_adapters.sources.mcp_upstream.forwarding:HttpAccess"),
    "source.mcp_spec": Part("toolcrib_adapters.sources.mcp_upstream.spec:read_spec"),
    "source.python": Part("toolcrib_adapters.sources.python_functions.source:PythonFunctions"),
    "source.snapshot": Part("toolcrib_adapters.sources.snapshots:SnapshotSource"),
    "version": Part("importlib.metadata:version"),
    "surface.mcp": Part("toolcrib_adapters.surfaces.mcp_server:build_server"),
    "surface.http": Part("toolcrib_adapters.surfaces.http_app:serve_http"),
    "surface.stdio": Part("toolcrib_adapters.surfaces.stdio:serve_stdio"),
}


def load(name: str) -> Any:
    """The part of that name.

    Raises:
        ToolError: `missing_extra`, with the command that installs it.
    """
    part = PARTS[name]
    module, _, attribute = part.target.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        # A module of our own that is missing is a fault of ours and must not be dressed up.
        if error.name is None or error.name.startswith("toolcrib_"):
            raise
        raise ToolError(
            MISSING_EXTRA,
            f"this needs the package {error.name!r}, which is not installed; "
            f"run: pip install 'toolcrib[{part.extra}]'",
        ) from error
