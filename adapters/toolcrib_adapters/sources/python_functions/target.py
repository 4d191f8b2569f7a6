"""The file or module whose functions are offered: loaded in the worker process, never in the crib.

Finds the functions that `@tool` marked, judges each alone, and knows which files belong to the
target, so that the crib can watch them and errors show the author's own lines only.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.docstring import read_docstring
from toolcrib_protocol.errors import ToolError
from toolcrib_protocol.function_tool import FunctionTool, is_tool

if TYPE_CHECKING:
    from types import ModuleType

_MOST_WATCHED_FILES: Final = 500
_MOST_LINES_SHOWN: Final = 3
_LONGEST_TEXT: Final = 2_000


class TargetError(Exception):
    """The target cannot be loaded; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Target:
    """A loaded target.

    Attributes:
        root: the folder that holds the author's code.
        tools: in the order of the file; two may claim the same name.
        refused: functions that cannot become tools, by function name, with the reason.
        description: what the module says about itself.
    """

    root: Path
    tools: tuple[FunctionTool, ...]
    refused: dict[str, str]
    description: str

    def own_files(self) -> list[str]:
        """The loaded files of the author's code; a change of one calls for a reload."""
        files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
        own = sorted(file for file in files if isinstance(file, str) and _is_own(file, self.root))
        return own[:_MOST_WATCHED_FILES]


def load_target(name: str, group: str) -> Target:
    """Load the file or module `name` and find its tools.

    Raises:
        TargetError: with file, line and message.
    """
    is_file = is_file_target(name)
    folder = Path(name).parent if is_file else Path.cwd()
    try:
        module = _file_module(Path(name)) if is_file else importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise TargetError(_load_problem(name, error, folder)) from error
    functions = {id(value): value for value in vars(module).values() if is_tool(value)}
    if not functions:
        raise TargetError(
            f"no function of {name} is marked as a tool: write `from toolcrib_client import tool` "
            "and put `@tool` above each function to offer"
        )
    tools: list[FunctionTool] = []
    refused: dict[str, str] = {}
    for function in functions.values():
        try:
            tools.append(FunctionTool(function, group))
        except ToolError as error:
            refused[function.__name__] = error.message
    root = folder if is_file else _folder_of(module)
    return Target(root, tuple(tools), refused, read_docstring(module.__doc__).text)


def is_file_target(name: str) -> bool:
    """Whether `name` is a path and not a module's dotted name."""
    return name.endswith(".py") or "/" in name or "\\" in name


def place_of(error: BaseException, root: Path) -> str:
    """The last lines of the author's own code that `error` passed, like `a.py line 3, in f`."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [
        f"{Path(frame.filename).name} line {frame.lineno}, in {frame.name}"
        for frame in frames
        if _is_own(frame.filename, root)
    ]
    return " > ".join(own[-_MOST_LINES_SHOWN:])


def _file_module(path: Path) -> ModuleType:
    """The module of a file; inside a package it is imported as a part, so relative imports work."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    folder, name = path.parent, path.stem
    while (folder / "__init__.py").exists():
        folder, name = folder.parent, f"{folder.name}.{name}"
    sys.path.insert(0, str(folder))
    if "." in name:
        return importlib.import_module(name)
    # A name of its own, so that a file called `json.py` does not take the place of the real one.
    spec = importlib.util.spec_from_file_location(_free_name(name), path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{str(path)!r} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    # Before it runs, because dataclasses and type hints look their module up.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _free_name(stem: str) -> str:
    is_taken = stem in sys.modules or stem in sys.stdlib_module_names or not stem.isidentifier()
    return f"toolcrib_target_{stem}" if is_taken else stem


def _folder_of(module: ModuleType) -> Path:
    return Path(module.__file__ or "").parent


def _is_own(file: str, root: Path) -> bool:
    path = Path(file)
    return path.is_relative_to(root) and "site-packages" not in path.relative_to(root).parts


def _load_problem(name: str, error: BaseException, folder: Path) -> str:
    if isinstance(error, SyntaxError):
        return f"{error.filename or name}, line {error.lineno}: {type(error).__name__}: {error.msg}"
    if isinstance(error, ModuleNotFoundError) and error.name == name.partition(".")[0]:
        where = f"there is no module {name!r} for {sys.executable}"
        return f"{where}: install it there, or give the path of a file"
    text = f"{type(error).__name__}: {error}"[:_LONGEST_TEXT]
    place = place_of(error, folder)
    return f"{name} cannot be loaded: {text}" + (f" ({place})" if place else "")
