"""The sources: whether what they need is there, how they are, what they list that cannot be used.

Looks at settings, files and the last states; starts nothing.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolcrib_adapters.doctor.finding import Finding, Severity
from toolcrib_adapters.expansion import Expansion
from toolcrib_protocol.errors import ToolError
from toolcrib_registry.ports import SourceStatus
from toolcrib_registry.records import SourceKind
from toolcrib_registry.shown_text import without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from toolcrib_protocol.json_value import Json
    from toolcrib_registry.ports import SourceState
    from toolcrib_registry.records import SourceRecord
    from toolcrib_registry.snapshot import Snapshot

LONGEST_NAME: Final = 64
"""Model APIs take no longer names of tools."""
_PREFIX: Final = "mcp__toolcrib__"
"""What Claude Code puts before the name of a tool; others do alike."""
_NAMED: Final = 5
"""How many examples are told."""


def source_findings(
    snapshot: Snapshot, failures: Mapping[str, SourceState], environment: Mapping[str, str]
) -> Iterator[Finding]:
    """What is wrong with the sources of a catalogue.

    Args:
        snapshot: the catalogue.
        failures: how each failed, now or last.
        environment: what `${NAME}` is filled in from here.
    """
    for name, record in sorted(snapshot.sources.items()):
        needs = [*_needs(record, environment)]
        yield from needs
        state = failures.get(name)
        if state is not None and not needs:
            yield _failure(record, state)
        yield from _quarantined(snapshot, name)
    yield from _long_names(snapshot)


def _needs(record: SourceRecord, environment: Mapping[str, str]) -> Iterator[Finding]:
    expansion = Expansion(environment)
    unset = [error.message for text in _texts(record.spec) for error in _unfilled(expansion, text)]
    for message in dict.fromkeys(unset):
        yield Finding(
            "variables",
            Severity.PROBLEM,
            f"source {record.name!r}: {message}",
            "set it where the crib is started, which may be another shell than this one",
            record.name,
        )
    if unset:
        return
    match record.kind:
        case SourceKind.PYTHON:
            yield from _file(record, "target")
        case SourceKind.SNAPSHOT:
            yield from _file(record, "path")
        case SourceKind.MCP:
            yield from _command(record, expansion, environment)


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _unfilled(expansion: Expansion, text: str) -> Iterator[ToolError]:
    try:
        expansion.text(text)
    except ToolError as error:
        yield error


def _file(record: SourceRecord, key: str) -> Iterator[Finding]:
    place = record.spec.get(key)
    if isinstance(place, str) and os.sep in place and not Path(place).exists():
        yield Finding(
            "source-file",
            Severity.PROBLEM,
            f"source {record.name!r}: there is no file {place}",
            f"put it back, or toolcrib remove {record.name}",
            place,
        )


def _command(
    record: SourceRecord, expansion: Expansion, environment: Mapping[str, str]
) -> Iterator[Finding]:
    command = record.spec.get("command")
    if not isinstance(command, str):
        return
    command, folder = expansion.text(command), record.spec.get("cwd")
    folder = expansion.text(folder) if isinstance(folder, str) else None
    if folder is not None and not Path(folder).is_dir():
        yield Finding(
            "source-folder",
            Severity.PROBLEM,
            f"source {record.name!r}: the folder {folder} it runs in is not there",
            f"make it, or toolcrib add {record.name} --replace --cwd FOLDER -- {command} ...",
            folder,
        )
        return
    env = record.spec.get("env")
    path = env.get("PATH") if isinstance(env, dict) else None
    path = expansion.text(path) if isinstance(path, str) else environment.get("PATH")
    beside = folder is not None and os.sep in command and (Path(folder) / command).is_file()
    if not beside and shutil.which(command, path=path) is None:
        yield Finding(
            "command",
            Severity.PROBLEM,
            f"source {record.name!r}: the command {command!r} was not found",
            f"install it, or name it by its full path: toolcrib add {record.name} --replace -- "
            "/PATH/TO/IT ...",
            command,
        )


def _failure(record: SourceRecord, state: SourceState) -> Finding:
    name, reason = record.name, without_secrets(state.reason)
    if state.status is SourceStatus.NEEDS_SIGN_IN:
        mend = (
            f"set what it signs in with, e.g. toolcrib add {name} --replace --url URL --header "
            "'Authorization=Bearer ${TOKEN}', and set TOKEN where the crib is started"
        )
        return Finding("sign-in", Severity.PROBLEM, f"source {name!r}: {reason}", mend, name)
    return Finding(
        "source",
        Severity.PROBLEM,
        f"source {name!r} failed (since {state.since}): {reason}",
        f"toolcrib refresh {name} tries it now; toolcrib sources tells how all of them are",
        {"source": name, "since": state.since, "retry_at": state.retry_at},
    )


def _quarantined(snapshot: Snapshot, name: str) -> Iterator[Finding]:
    refused = snapshot.quarantined.get(name, ())
    if refused:
        first = refused[0]
        called = first.name or f"number {first.position}"
        yield Finding(
            "quarantine",
            Severity.WARNING,
            f"source {name!r}: {len(refused)} of its tools cannot be used, the first: "
            f"{called} ({first.reason})",
            "toolcrib tools --quarantined tells about each; its author has to mend them",
            len(refused),
        )


def _long_names(snapshot: Snapshot) -> Iterator[Finding]:
    heads = [tool for tool in snapshot.tools.values() if tool.head is not None]
    limit = LONGEST_NAME - len(_PREFIX)
    prefixed = sorted(t.published_name for t in heads if len(t.published_name) > limit)
    if prefixed:
        yield Finding(
            "names",
            Severity.WARNING,
            f"{len(prefixed)} tools have names of more than {limit} characters; with the "
            f"{_PREFIX!r} that clients put before them they are longer than {LONGEST_NAME}, which "
            f"models refuse: {_some(prefixed)}",
            "toolcrib serve --mode dynamic: there they are called through call_tool",
            [*prefixed],
        )
    bare = sorted(str(t.id) for t in heads if t.head and len(t.head.upstream_name) > LONGEST_NAME)
    if bare:
        yield Finding(
            "names",
            Severity.WARNING,
            f"{len(bare)} tools are called by their source what is longer than {LONGEST_NAME} "
            f"characters; at /mcp/GROUP models may refuse them: {_some(bare)}",
            "use the plain endpoint, which publishes shorter names",
            [*bare],
        )


def _some(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
