"""A `crib.toml` is read whole: what is wrong is told with file, line and key."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from toolcrib_adapters.declarations.document import Limits, Policies
from toolcrib_adapters.declarations.reading import read_crib_file
from toolcrib_adapters.declarations.toml_lines import Lines
from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError
from toolcrib_protocol.names import ToolId
from toolcrib_protocol.overlay import Overlay, OverlayExample
from toolcrib_registry.declaring import DeclaredGroup
from toolcrib_registry.records import EndpointMode, ProfileRecord, SourceKind, SourceRecord

if TYPE_CHECKING:
    from toolcrib_adapters.declarations.reading import DeclaredCrib
    from toolcrib_protocol.json_value import Json

WHOLE = r"""
name = "team"

[sources.time]
command = 'C:\Program Files\x\run.cmd'
args = ["--dir", 'C:\temp\new folder\é', "$${LIT}"]
env = { TOKEN = "${TOKEN}", MORE = "pre-${A:-b}" }
cwd = "work"
timeout_seconds = 9.5

[sources.web]
url = "https://example.org/mcp"
transport = "sse"
headers.Authorization = "Bearer ${KEY}"
group = "net"

[sources.kit]
target = "tools.py"

[sources.module]
target = "package.module"

[sources.shelf]
path = "shelf.json"

[sources.published]
entries = '[{"name": "t", "inputSchema": {"default": null}}]'

[groups.office]
title = "Büro"
members = ["mail/send"]
refuse_unknown_arguments = false

[overlays."mail/send"]
when_to_use = '''
For letters.'''
presets = '{"to": null}'
hidden = true

[[overlays."mail/send".examples]]
request = "post it"
arguments = { to = "Ana" }

[profiles.claude]
groups = ["office"]
pins = ["mail/send"]
mode = "full"
calls_at_once = 2

[rules."group:mail"]
max_concurrency = 2
when_full = "reject"

[rules."tool:mail/send"]
equivalents = ["post/send"]

[limits]
body_mib = 2

[policies]
allow_publish = false
allowed_hosts = ["crib.example.org"]
"""


def read(folder: Path, text: str) -> DeclaredCrib:
    file = folder / "crib.toml"
    file.write_text(text, encoding="utf-8")
    return read_crib_file(file)


@pytest.mark.promise("config-file")
def test_every_part_is_read_with_paths_as_seen_from_the_file_and_variables_unexpanded(
    tmp_path: Path,
) -> None:
    (tmp_path / "tools.py").touch()
    declared = read(tmp_path, WHOLE)
    declaration = declared.declaration
    entries: Json = [{"name": "t", "inputSchema": {"default": None}}]
    assert declaration.name == "team"
    assert [*declaration.sources.values()] == [
        SourceRecord(
            "time",
            SourceKind.MCP,
            {
                "transport": "stdio",
                "command": "C:\\Program Files\\x\\run.cmd",
                "args": ["--dir", "C:\\temp\\new folder\\é", "$${LIT}"],
                "env": {"TOKEN": "${TOKEN}", "MORE": "pre-${A:-b}"},
                "cwd": str(tmp_path / "work"),
                "timeout_seconds": 9.5,
            },
            "time",
        ),
        SourceRecord(
            "web",
            SourceKind.MCP,
            {
                "transport": "sse",
                "url": "https://example.org/mcp",
                "headers": {"Authorization": "Bearer ${KEY}"},
            },
            "net",
        ),
        SourceRecord("kit", SourceKind.PYTHON, {"target": str(tmp_path / "tools.py")}, "kit"),
        SourceRecord("module", SourceKind.PYTHON, {"target": "package.module"}, "module"),
        SourceRecord(
            "shelf",
            SourceKind.SNAPSHOT,
            {"path": str(tmp_path / "shelf.json"), "entries": None},
            "shelf",
        ),
        SourceRecord(
            "published", SourceKind.SNAPSHOT, {"path": None, "entries": entries}, "published"
        ),
    ]
    send = ToolId("mail", "send")
    assert declaration.groups == {
        "office": DeclaredGroup("office", "Büro", None, (send,), refuses_unknown_arguments=False)
    }
    assert declaration.overlays == {
        send: Overlay(
            when_to_use="For letters.",
            presets={"to": None},
            hidden=True,
            examples=(OverlayExample(request="post it", arguments={"to": "Ana"}),),
        )
    }
    assert {str(scope): rules.as_json() for scope, rules in declaration.rules.items()} == {
        "group:mail": {"max_concurrency": 2, "when_full": "reject"},
        "tool:mail/send": {"equivalents": ["post/send"]},
    }
    assert declaration.profiles == {
        "claude": ProfileRecord(
            "claude", groups=("office",), pins=(send,), mode=EndpointMode.FULL, calls_at_once=2
        )
    }
    assert declared.limits == Limits(body_mib=2)
    assert declared.policies == Policies(allow_publish=False, allowed_hosts=("crib.example.org",))
    assert declared.warnings == ()


@pytest.mark.parametrize(
    ("cwd", "seen"),
    [("${HOME}/x", "${HOME}/x"), ("/abs", "/abs"), (r"D:\x", r"D:\x"), ("~", str(Path.home()))],
)
def test_paths_that_are_whole_or_expanded_later_stay(tmp_path: Path, cwd: str, seen: str) -> None:
    declared = read(tmp_path, f"[sources.x]\ncommand = 'c'\ncwd = '{cwd}'")
    assert declared.declaration.sources["x"].spec["cwd"] == seen


@pytest.mark.promise("config-errors-placed")
@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[sources.x]\ncommand = 3", ":2: sources.x.command: Input should be a valid string"),
        ("[sources.x]\nargs = []", ":1: sources.x: say what the source is"),
        ("[sources.x]\ncommand = 'c'\nurl = 'http://x'", ":1: sources.x: say what the source is"),
        ("\n[sources.'b c']\ncommand = 'x'", ":2: sources.b c: 'b c' cannot name a source"),
        ("[sources]\nx = 3", ":2: sources.x: say what the source is"),
        ("sources = 3", ":1: sources: Input should be a valid dictionary"),
        ("[sources.x]\nurl = 'ftp://x'", ":2: sources.x.url: an address begins with http"),
        ("[overlays.a]\nhidden = true", ":1: overlays.a: 'a' is not a tool reference"),
        ("[overlays.'a/b@^1']\nhidden = true", ":1: overlays.a/b@^1: write 'group/tool' without"),
        ("[overlays.'a/b']\npresets = '{'", ":2: overlays.a/b.presets: not valid JSON"),
        ("[overlays.'a/b']\npresets = '3'", ":2: overlays.a/b.presets: must be an object"),
        ("[overlays.'a/b'.presets]\nday = 2026-01-01", ":2: overlays.a/b.presets.day: write dates"),
        ("[overlays.'a/b'.presets]\nx = [1, nan]", ":2: overlays.a/b.presets.x.1: nan is not"),
        ("[profiles.x]\npins = [\n  'a/b',\n  'c',\n]", ":2: profiles.x.pins.1: 'c' is not"),
        ("[rules.'tool:x']\nretries = 1", ":1: rules.tool:x"),
        ("[rules.'group:x']\nretries = -1", ":2: rules.group:x.retries: Input should be"),
        ("[profiles.x]\nmode = 'fast'", ":2: profiles.x.mode: Input should be 'auto'"),
        (
            "[[overlays.'a/b'.examples]]\n[[overlays.'a/b'.examples]]\nrequest = 3",
            ":3: overlays.a/b.examples.1.request: Input should be a valid string",
        ),
        ("limits.body_mib = 0", ":1: limits.body_mib: Input should be greater"),
        ("\n[surces.a]\npath = 'x'", ":2: surces: nobody knows this table; did you mean sources?"),
        ("[[zzz]]\nx = 1", ":1: zzz: nobody knows this table; there are sources, groups"),
        ("", " is empty, so everything of an earlier one would be taken out"),
        ("# only this\n", " is empty, so everything"),
        ("x = [1,\n", ": not valid TOML: "),
        ("name = 'a'\nname = 'b'", "(at line 2"),
    ],
)
def test_what_is_wrong_is_told_with_file_line_and_key(
    tmp_path: Path, text: str, place: str
) -> None:
    with pytest.raises(ToolError) as refusal:
        read(tmp_path, text)
    assert refusal.value.code == INVALID_SETTINGS
    assert str(tmp_path / "crib.toml") in refusal.value.message
    assert place in refusal.value.message


def test_everything_wrong_is_told_at_once_up_to_a_bound_and_secrets_are_not(
    tmp_path: Path,
) -> None:
    many = "".join(f"[sources.s{n}]\ncommand = ['hunter2']\n" for n in range(30))
    with pytest.raises(ToolError) as refusal:
        read(tmp_path, many)
    assert refusal.value.message.count("sources.s") == 20
    assert "and 10 more" in refusal.value.message
    assert "hunter2" not in refusal.value.message
    assert len(refusal.value.details["problems"]) == 30  # type: ignore[arg-type]


@pytest.mark.promise("config-errors-placed")
def test_unknown_keys_are_warned_about_and_passed_over(tmp_path: Path) -> None:
    declared = read(
        tmp_path,
        "colour = 'red'\n[sources.x]\ncommand = 'c'\nshape = 1\n"
        "[[overlays.'a/b'.examples]]\nwords = 'x'\n",
    )
    assert [warning.removeprefix(str(tmp_path)) for warning in declared.warnings] == [
        "/crib.toml:4: sources.x.shape: nobody knows this key",
        "/crib.toml:6: overlays.a/b.examples.0.words: nobody knows this key",
        "/crib.toml:1: colour: nobody knows this key",
    ]
    assert declared.declaration.sources["x"].spec == {"transport": "stdio", "command": "c"}


def test_many_unknown_keys_are_told_up_to_a_bound(tmp_path: Path) -> None:
    many = "".join(f"[sources.s{n}]\ncommand = 'c'\nshape = 1\n" for n in range(200))
    declared = read(tmp_path, many)
    assert (len(declared.warnings), declared.warnings[-1]) == (21, "and 180 more")
    assert declared.warnings[19].endswith(":60: sources.s19.shape: nobody knows this key")


def test_a_file_that_cannot_be_read_is_told_with_its_path(tmp_path: Path) -> None:
    missing = tmp_path / "no.toml"
    with pytest.raises(ToolError, match=r"no\.toml cannot be read"):
        read_crib_file(missing)
    missing.write_bytes(b"\xff\xfe")
    with pytest.raises(ToolError, match="cannot be read"):
        read_crib_file(missing)
    missing.write_bytes(b"#" * 4_000_001)
    with pytest.raises(ToolError, match="larger than"):
        read_crib_file(missing)
    with pytest.raises(ToolError, match="larger than"):
        read_crib_file(Path("/dev/zero"))


def test_a_line_is_found_behind_values_of_many_lines_and_none_where_nothing_is() -> None:
    text = '[a]\nb = """\n[c]\nd = 1\n"""\ne = [\n  1, # f = 2\n]\n[a.g]\nh = 1\n'
    lines = Lines(text)
    assert lines.of(("a", "e", 0)) == 6
    assert lines.of(("a", "g", "h")) == 10
    assert lines.of(("a", "g", "missing")) == 9
    assert lines.of(("c",)) is None
    long = "x = [\n" + "1,\n" * 500 + "]\n[z]\ny = 1\n"
    assert Lines(long).of(("z", "y")) == 504
    assert Lines("x = '\u2028\u2028'\r\ny = 1\r\nz = 1").of(("z",)) == 3
    quoted = 'x = \'\'\'\n[\n"""\n\'\'\'\ny = """\n\\"""\n"""\nz = "]" # [ {\nw = \']\'\n'
    assert [Lines(quoted).of((key,)) for key in "xyzw"] == [1, 5, 8, 9]
