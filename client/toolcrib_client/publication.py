"""What `Crib.publish` sends: contracts, or the file or module of `@tool` functions.

Decides what was given; registering is the crib's business. YAML is read by the `toolcrib publish`
command only: the client stays thin.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import anyio

from toolcrib_client.failures import failure
from toolcrib_protocol.contract_file import read_contracts
from toolcrib_protocol.errors import INVALID_CONTRACT
from toolcrib_protocol.function_tool import is_tool
from toolcrib_protocol.json_value import parse_json
from toolcrib_protocol.names import check_group_name, slug
from toolcrib_protocol.tool import Contract

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolcrib_protocol.errors import ToolError
    from toolcrib_protocol.json_value import Json, JsonObject

Publishable: TypeAlias = "Contract | Mapping[str, object] | Callable[..., object] | Path | str"
"""A contract (or its JSON, or a foreign tool's), an `@tool` function, a file, or the name of a
module."""
_SUFFIXES: Final = frozenset({".py", ".json", ".yaml", ".yml"})
_MODULE: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Publication:
    """The parameters of `toolcrib/publish`: entries, or the target that the crib loads itself.

    Attributes:
        source: the name of the source, and the home group of its tools.
        entries: contracts and raw tools as JSON, or None.
        target: an absolute path or a module on the machine of the crib, or None.
    """

    source: str
    entries: tuple[Json, ...] | None = None
    target: str | None = None

    def as_params(self) -> JsonObject:
        """The publication as JSON."""
        if self.target is not None:
            return {"source": self.source, "kind": "python", "target": self.target}
        return {"source": self.source, "kind": "snapshot", "entries": [*(self.entries or ())]}


async def read_publication(given: Sequence[Publishable], source: str | None) -> Publication:
    """The publication that `given` means.

    Args:
        given: contracts, or functions of one file, or one file or module.
        source: its name; None to take the file's, the module's or the contracts' common group.

    Raises:
        ToolError: `invalid_contract` or `invalid_name`.
    """
    if source is not None:
        check_group_name(source, what="source")
    if given and all(is_tool(one) for one in given):
        return _python(_file_of(given), source)
    if len(given) == 1 and isinstance(given[0], str | Path):
        return await _named(given[0], source)
    entries = [_entry(one) for one in given]
    if not entries:
        raise _refused("nothing to publish: give contracts, @tool functions, a file or a module")
    return Publication(source or _common_group(entries), tuple(entries))


async def _named(given: str | Path, source: str | None) -> Publication:
    path = Path(given)
    is_text = isinstance(given, str) and path.suffix.lower() not in _SUFFIXES
    if is_text and not await anyio.Path(path).is_file():
        if _MODULE.fullmatch(str(given)):
            return Publication(source or slug(str(given)), target=str(given))
        raise _refused(f"{given!r} is neither a file nor the name of a module")
    match path.suffix.lower():
        case ".py":
            return _python(path, source)
        case ".json":
            return await _contract_file(path, source or slug(path.stem))
        case ".yaml" | ".yml":
            raise _refused(
                f"{path} is YAML, which this client does not read: use `toolcrib publish {path}`"
            )
        case _:
            raise _refused(f"{path}: only .py and .json files can be published")


async def _contract_file(path: Path, source: str) -> Publication:
    try:
        text = await anyio.Path(path).read_bytes()
    except OSError as error:
        raise _refused(f"{path} cannot be read: {error.strerror or error}") from error
    read = read_contracts(parse_json(text), source)
    # What we cannot read the crib cannot either; it says so in the receipt, beside what it took.
    entries = [_entry(entry) if isinstance(entry, Contract) else entry for entry in read.entries]
    return Publication(source, (*entries, *(entry.raw for entry in read.unreadable)))


def _python(path: Path, source: str | None) -> Publication:
    # The crib runs elsewhere in the file system.
    return Publication(source or slug(path.stem), target=str(path.absolute()))


def _file_of(functions: Sequence[object]) -> Path:
    files = {inspect.getsourcefile(inspect.unwrap(one)) for one in functions if callable(one)}
    if len(files) != 1 or None in files:
        names = ", ".join(sorted(map(str, files)))
        raise _refused(
            "functions are published with their file, all of one file at once; these are "
            f"of: {names}"
        )
    return Path(str(files.pop()))


def _entry(given: object) -> JsonObject:
    if isinstance(given, Contract):
        return given.as_json()
    if isinstance(given, Mapping):
        return {str(key): value for key, value in given.items()}
    if callable(given):
        name = getattr(given, "__name__", repr(given))
        raise _refused(
            f"{name} is not marked as a tool: put `@tool` above it, and do not mix "
            "functions with contracts"
        )
    raise _refused(f"a {type(given).__name__} cannot be published together with other things")


def _common_group(entries: Sequence[JsonObject]) -> str:
    groups = {entry.get("group") for entry in entries}
    group = groups.pop() if len(groups) == 1 else None
    if not isinstance(group, str):
        raise _refused(
            "these contracts have no group in common; say where they belong: publish(..., "
            "source='NAME')"
        )
    return group


def _refused(text: str) -> ToolError:
    return failure(INVALID_CONTRACT, text)
