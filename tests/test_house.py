"""How the house is built: what the wheel holds, what the base install loads, rules of tools."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final
from zipfile import ZipFile

import pytest

from tests.docs_blocks import ROOT, block_to_run

if TYPE_CHECKING:
    from collections.abc import Iterable

PACKAGES: Final = ("toolcrib_protocol", "toolcrib_registry", "toolcrib_adapters", "toolcrib_client")
OF_THE_SERVER: Final = (
    "alembic",
    "faiss",
    "numpy",
    "onnxruntime",
    "platformdirs",
    "psycopg",
    "rich",
    "sentence_transformers",
    "sqlalchemy",
    "tokenizers",
    "typer",
    "yaml",
)
"""What only the extras bring; starlette and uvicorn are not here, because `mcp` needs them itself.
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = run("-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
    assert build.returncode == 0, build.stderr
    (path,) = folder.glob("*.whl")
    return path


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def without(modules: Iterable[str], program: str) -> str:
    """The program, in a Python in which those modules are not installed."""
    return f"import sys\nfor name in {tuple(modules)!r}: sys.modules[name] = None\n{program}"


@pytest.mark.promise("house-one-wheel")
def test_the_wheel_holds_the_four_packages_typed_and_the_licence(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)
    assert {f"{package}/py.typed" for package in PACKAGES} <= names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


@pytest.mark.promise("house-one-wheel")
def test_the_wheel_holds_every_file_of_the_packages_that_is_tracked(wheel: Path) -> None:
    tracked = subprocess.run(
        ["git", "ls-files", *(f"*/{package}/*" for package in PACKAGES)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if tracked.returncode != 0:
        pytest.skip("not a git checkout")
    with ZipFile(wheel) as archive:
        missing = {name.partition("/")[2] for name in tracked.stdout.split()} - {
            *archive.namelist()
        }
    assert missing == set()


@pytest.mark.promise("house-thin-client")
def test_importing_the_client_loads_nothing_of_the_server() -> None:
    loaded = run("-c", "import toolcrib_client, sys; print(*sys.modules)")
    assert loaded.returncode == 0, loaded.stderr
    tops = {name.partition(".")[0] for name in loaded.stdout.split()}
    assert "toolcrib_protocol" in tops
    assert tops & {*OF_THE_SERVER, "toolcrib_registry", "toolcrib_adapters"} == set()


@pytest.mark.promise("house-thin-client")
def test_the_client_can_be_imported_where_the_server_is_not_installed() -> None:
    imported = run("-c", without(OF_THE_SERVER, "import toolcrib_client"))
    assert imported.returncode == 0, imported.stderr


@pytest.mark.promise("house-missing-extra")
def test_the_command_of_the_base_install_says_what_to_install() -> None:
    program = without(OF_THE_SERVER, "from toolcrib_adapters.command import main; main()")
    ended = run("-c", program)
    assert ended.returncode == 2
    assert ended.stdout == ""
    (sentence,) = ended.stderr.splitlines()
    assert sentence.endswith("run: pip install 'toolcrib[server]'")


@pytest.mark.promise("house-install-lines")
def test_the_readme_installs_what_the_wheel_has(wheel: Path) -> None:
    commands = [line.partition("#")[0] for line in block_to_run("install").splitlines()]
    assert commands
    for command in commands:
        words = command.replace("'", "").split()
        assert words[:2] == ["pip", "install"]
        (wanted,) = words[2:]
        assert wanted.partition("[")[0] == "."  # the checkout, of which the wheel is made
        dry = run(
            *("-m", "pip", "install", "--dry-run", "--no-deps", "--no-index", "--force-reinstall"),
            wanted.replace(".", str(wheel), 1),
        )
        assert dry.returncode == 0, dry.stderr
        assert "Would install toolcrib-" in dry.stdout
        assert "does not provide the extra" not in dry.stderr


@pytest.mark.promise("house-imports-one-way")
def test_imports_keep_the_contracts() -> None:
    checked = run("-c", "from importlinter.cli import lint_imports_command as c; c()", "--no-logo")
    assert checked.returncode == 0, checked.stdout


@pytest.mark.promise("house-small-files")
def test_files_keep_their_limits() -> None:
    loq = Path(sys.executable).with_name("loq")
    checked = subprocess.run(
        [loq, "check"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert checked.returncode == 0, checked.stdout


@pytest.mark.promise("house-quiet-setup")
def test_setting_up_again_changes_nothing_and_says_nothing() -> None:
    if Path(sys.prefix) != ROOT / ".venv":
        pytest.skip("the tests do not run in the environment that scripts/setup makes")
    set_up = [ROOT / "scripts" / "setup"]
    subprocess.run(set_up, check=True, capture_output=True, timeout=600)
    again = subprocess.run(set_up, check=False, capture_output=True, text=True, timeout=60)
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
