"""What toolcrib promises: an id, the statement, and where the promise comes from.

A test that proves a promise is marked `@pytest.mark.promise("id")`; `test_requirements.py` holds
both directions. This is a table, not a plan: a promise is added together with the test that proves
it. Each area has a section of its own.
"""

from __future__ import annotations

from typing import Final

from tests.faulty_peer_promises import FAULTY_PEERS
from tests.handle_promises import HANDLES
from tests.healing_promises import HEALING
from tests.ledger_promises import LEDGER
from tests.limit_promises import LIMITS
from tests.pass_through_promises import PASS_THROUGH
from tests.promise import Promise
from tests.record_promises import CALL_RECORDS
from tests.repair_promises import REPAIR
from tests.upstream_life_promises import HTTP_WEATHER, UPSTREAM_LIFE
from tests.version_promises import VERSIONS

HOUSE: Final = (
    Promise(
        "house-one-wheel",
        "One wheel brings the four packages, typed, with the licence, without the tests.",
        "issue 2, section 1",
    ),
    Promise(
        "house-thin-client",
        "Importing the client loads no index, database, encoder or command line.",
        "issue 2, section 1",
    ),
    Promise(
        "house-missing-extra",
        "With the base install, the command says what to install and exits with 2; no traceback.",
        "issue 2, section 1",
    ),
    Promise(
        "house-install-lines",
        "The install lines of the README name a distribution and extras that exist.",
        "issue 2, section 1",
    ),
    Promise(
        "house-imports-one-way",
        "Rooms import downwards only, and each heavy library is imported in one package.",
        "issue 2, section 1",
    ),
    Promise("house-small-files", "No file grows over its limit of lines.", "issue 2, section 1"),
    Promise(
        "house-quiet-setup",
        "Setting up a second time changes nothing and prints nothing.",
        "issue 2, section 1",
    ),
    Promise(
        "house-documentation-runs",
        "Every Python and shell block in the README and the documentation is run by a test.",
        "issue 2, section 1",
    ),
    Promise(
        "house-promises-proved",
        "Each promise has a test, and each mark names a promise.",
        "issue 2, section 1",
    ),
)

CONTRACT: Final = (
    Promise(
        "contract-complete",
        "A contract carries everything a caller relies on and is read back from JSON as it "
        "was written.",
        "issue 2, section 2",
    ),
    Promise(
        "contract-unknown-is-not-safe",
        "What a tool does not declare stays unknown and never counts as harmless to repeat.",
        "issue 2, section 2",
    ),
    Promise(
        "contract-fingerprint",
        "Two contracts have the same fingerprint exactly if they say the same, whatever "
        "their version.",
        "issue 2, section 2",
    ),
    Promise(
        "contract-errors-travel",
        "Code, kind and details of an error survive the MCP wire, and text alone never makes "
        "a call repeatable.",
        "issue 2, section 2",
    ),
    Promise(
        "contract-content-survives",
        "Content blocks pass in order with annotations, `_meta` and fields nobody knows.",
        "issue 2, section 2",
    ),
    Promise(
        "contract-integers-exact",
        "Integers beyond 2^53 reach Python functions and come back digit for digit.",
        "issue 2, section 2",
    ),
    Promise(
        "contract-version-ranges",
        "A reference's range admits exactly the versions that its text says.",
        "issue 2, section 2",
    ),
    Promise(
        "contract-published-names",
        "Every published name is accepted by common model APIs, and no two tools share one.",
        "issue 2, section 2",
    ),
)

SCHEMA: Final = (
    Promise(
        "schema-canonical",
        "Equal JSON values have one canonical text and one fingerprint, whatever the order of "
        "keys.",
        "issue 2, section 2",
    ),
    Promise(
        "schema-faults-teach",
        "A value that does not fit is told with place, what was expected and what came.",
        "issue 2, section 6",
    ),
    Promise(
        "schema-signature",
        "Every schema has a signature of bounded length that reads like a function's.",
        "issue 2, section 5",
    ),
    Promise(
        "schema-valid-example",
        "An example is shown only if the exact schema admits it.",
        "issue 2, section 6",
    ),
    Promise(
        "schema-wire-valid",
        "Every tool that is not quarantined is valid on the wire at 2025-06-18, 2025-11-25 and "
        "2026-07-28.",
        "issue 2, section 9",
    ),
)

CATALOGUE: Final = (
    Promise(
        "catalogue-versions-never-change",
        "A changed contract becomes the next version; what was published stays as it was.",
        "issue 2, section 3",
    ),
    Promise(
        "catalogue-one-provider",
        "A tool that a source provides cannot be taken over by another; the second is refused "
        "with a reason.",
        "ARCHITECTURE, the words",
    ),
    Promise(
        "store-keeps-everything",
        "Every store gives back exactly what was committed: integers of any length, any text, the "
        "order of keys.",
        "issue 2, section 3",
    ),
    Promise(
        "store-followers-agree",
        "A follower that was away for any time comes to the state of the store, by changes or by "
        "reloading.",
        "field case O-36",
    ),
    Promise(
        "store-refuses-stale-writers",
        "A writer that did not see the last commit writes nothing and is told so.",
        "issue 2, section 3",
    ),
    Promise(
        "versions-never-change",
        "A published version may be said again, but its content can never be replaced.",
        "issue 2, section 3",
    ),
    Promise(
        "names-never-reused",
        "A published name stays with its tool when the tool, its versions and its source are gone.",
        "issue 2, section 2",
    ),
    Promise(
        "store-single-writer",
        "Writers that come at the same time all succeed, one after the other, and all see one "
        "state.",
        "field case O-35",
    ),
    Promise(
        "store-many-processes",
        "Four processes register 200 tools each on one database: 800 rows, no error, no name "
        "twice.",
        "field case O-35",
    ),
    Promise(
        "store-busy-is-busy",
        "A lock that lasts too long is told as busy and retryable, never as another fault.",
        "field case O-35",
    ),
    Promise(
        "store-concurrent-start",
        "Processes that start at the same time on an empty home all succeed.",
        "field case O-35",
    ),
    Promise(
        "store-all-or-nothing",
        "A process that is killed while it commits leaves whole commits only.",
        "field case O-36",
    ),
    Promise(
        "store-change-seen-in-time",
        "A commit of one process wakes the others that wait: SQLite is looked at every 250 ms, "
        "PostgreSQL notifies.",
        "issue 2, section 7",
    ),
    Promise(
        "store-newer-refused",
        "A database with a newer schema is refused with both versions and what to do, and is left "
        "as it is.",
        "issue 2, section 3",
    ),
    Promise(
        "store-quick-start",
        "A database whose schema is current opens without loading the migration tool.",
        "issue 2, section 7",
    ),
    Promise(
        "store-silent-cribs-forgotten",
        "What a killed process said about its sources disappears after a while.",
        "ARCHITECTURE, state",
    ),
    Promise(
        "catalogue-no-starving-writer",
        "A writer gets its turn however fast other processes commit.",
        "field case O-35",
    ),
    Promise(
        "catalogue-followers-told",
        "Every follower is told of every step, also when the writer is cancelled in the middle.",
        "field case O-36",
    ),
    Promise(
        "catalogue-survives-outage",
        "A catalogue follows on when its store was away for a while.",
        "ARCHITECTURE, state",
    ),
)

SOURCES: Final = (
    Promise(
        "mcp-both-generations",
        "MCP servers of both generations are listed and called over stdio, streamable HTTP and "
        "SSE.",
        "issue 2, section 4",
    ),
    Promise(
        "mcp-raw-lists",
        "Every entry of every page of a server's list is read as it is; a list that fails leaves "
        "the "
        "catalogue alone.",
        "issue 2, section 4; field cases O-04, O-16",
    ),
    Promise(
        "mcp-list-changes",
        "A server's list is read again when it says so, when a tool turns out to be unknown, and "
        "from "
        "time to time.",
        "issue 2, section 4",
    ),
    Promise(
        "mcp-digits",
        "Arguments and results pass to and from a server digit for digit, unchecked.",
        "issue 2, section 4; field case O-10",
    ),
    Promise(
        "mcp-minimal-environment",
        "A server's process gets a minimal environment, what is named for it, and its arguments "
        "unsplit.",
        "issue 2, section 4; field case O-29",
    ),
    Promise(
        "mcp-states",
        "A source says whether it is connecting, ready, needs a sign-in or has failed, why, and "
        "when it "
        "is tried again.",
        "issue 2, section 4",
    ),
    Promise(
        "mcp-death-noticed",
        "A server that dies fails the calls that run at once, and is connected again.",
        "issue 2, section 4",
    ),
    Promise(
        "mcp-calls-independent",
        "Calls share one connection; the failure, time limit or cancellation of one touches no "
        "other.",
        "ARCHITECTURE, rule 2",
    ),
    Promise(
        "mcp-cancel-and-progress",
        "Cancelling a call cancels it at the server, and a server's progress reaches who asked "
        "for it.",
        "ARCHITECTURE, rule 2; field case O-22",
    ),
    Promise(
        "python-function-contract",
        "A decorated function, sync or async, becomes a contract: schemas from hints, texts "
        "and errors from the docstring.",
        "issue 2, section 4",
    ),
    Promise(
        "python-function-stays-callable",
        "Marking a function as a tool does not change it.",
        "issue 2, section 4",
    ),
    Promise(
        "python-worker-crash",
        "A crash of a function ends its worker process and never the crib; the next call is "
        "answered.",
        "issue 2, section 4",
    ),
    Promise(
        "python-timeout-stops",
        "A function that timed out is really stopped, with all the processes it started.",
        "issue 2, section 4",
    ),
    Promise(
        "python-stop-hits-its-own",
        "Stopping a sync function ends no other call.",
        "issue 2, section 4",
    ),
    Promise(
        "python-leak-bounded",
        "A function cannot allocate beyond its limit, and a process that keeps too much is "
        "replaced.",
        "issue 2, section 4",
    ),
    Promise(
        "python-own-room",
        "Functions run in a folder of their own with a minimal environment and no "
        "descriptors of the crib.",
        "issue 2, section 4",
    ),
    Promise(
        "python-output-is-free",
        "What a function prints or reads does not disturb the crib.",
        "issue 2, section 4",
    ),
    Promise(
        "python-load-failure-told",
        "A target that cannot be loaded is a state of its source with file, line and message.",
        "issue 2, section 4",
    ),
    Promise(
        "python-broken-function-alone",
        "A function that cannot become a tool is quarantined with the reason; its neighbours "
        "are offered.",
        "issue 2, section 4",
    ),
    Promise(
        "python-reload",
        "A change of the target's files is listed anew without a restart; calls that run end "
        "as they began.",
        "issue 2, section 4",
    ),
    Promise(
        "python-no-orphans",
        "A crib that is killed leaves no worker process behind.",
        "issue 2, section 4",
    ),
    Promise(
        "python-outcome-honest",
        "A stopped or crashed call may be repeated only where the contract says that is harmless.",
        "issue 2, section 4; architecture, rule 5",
    ),
    Promise(
        "snapshot-forms",
        "Stored lists, contract files in JSON and YAML, and the OpenAI, Anthropic and Gemini "
        "function forms are read.",
        "issue 2, section 4",
    ),
    Promise(
        "snapshot-refuses-calls",
        "A tool that is only catalogued refuses calls and says what would make it callable.",
        "issue 2, section 4",
    ),
    Promise(
        "snapshot-broken-entry-alone",
        "A broken entry of a file is quarantined alone, with the place of its fault.",
        "issue 2, section 4",
    ),
    Promise(
        "snapshot-follows-file",
        "A snapshot's file that changes is listed anew; one that cannot be read is a state "
        "with line and column.",
        "issue 2, section 4",
    ),
    Promise(
        "snapshot-hostile-files",
        "Contract files are read with bounds: size, depth, alias bombs and YAML object tags "
        "do no harm.",
        "issue 2, section 4",
    ),
)

SEARCH: Final = (
    Promise(
        "search-masks",
        "What the asker may not see takes no place in an answer, and is not found by name either.",
        "issue 2, section 5; field case O-42",
    ),
    Promise(
        "search-group",
        "A question can be limited to a group with its guests; an unknown group is refused with "
        "the nearest names.",
        "issue 2, section 5",
    ),
    Promise(
        "search-live",
        "What is published is found at once by its words and soon by its meaning; what may not be "
        "called is not found.",
        "ARCHITECTURE, sections 4 and 7",
    ),
    Promise(
        "search-many-queries",
        "Several queries have answers of their own and one fair order; groups are derived from "
        "the hits.",
        "issue 2, section 5",
    ),
    Promise("search-steps", "Each step of a long request gets its tool.", "RETRIEVAL, section 2"),
    Promise(
        "search-diverse", "Copies of one tool do not fill an answer.", "ARCHITECTURE, section 4"
    ),
    Promise(
        "search-cached",
        "A repeated question is answered from memory, and never from an older catalogue.",
        "ARCHITECTURE, section 7",
    ),
    Promise(
        "search-words-only", "Without an encoder, words alone find tools.", "issue 2, section 5"
    ),
    Promise(
        "search-weak",
        "A hit that perhaps does not fit says so.",
        "issue 2, section 5",
    ),
    Promise(
        "search-restart",
        "A stored index is complete after a restart, and an interrupted build goes on.",
        "issue 2, section 5",
    ),
    Promise(
        "search-encoder-files",
        "The wheel's encoder files are those of their card, with their licence.",
        "issue 2, section 5",
    ),
    Promise(
        "search-encoder-export",
        "Published weights become an encoder, from a folder or from the hub; others are refused.",
        "issue 2, section 5",
    ),
    Promise(
        "search-two-processes",
        "Several processes share one index folder.",
        "issue 2, section 9.3",
    ),
    Promise(
        "search-quality",
        "On our own catalogue in English and Chinese, search holds its measured quality.",
        "issue 2, section 9.5",
    ),
)

SURFACE: Final = (
    Promise(
        "surface-three-tools",
        "In mode `dynamic` an agent sees four meta-tools and short instructions, whatever stands "
        "behind them.",
        "issue 2, section 6",
    ),
    Promise(
        "surface-token-budget",
        "The meta-tools keep their share of 1,000 tokens with any number of groups; how the "
        "summary is cut is stated in it.",
        "issue 2, section 6",
    ),
    Promise(
        "surface-both-generations",
        "One server object serves both protocol generations, over stdio, HTTP and in process.",
        "ARCHITECTURE, rule 1",
    ),
    Promise(
        "surface-call-by-name",
        "Any published name or reference is called directly, in every mode.",
        "issue 2, section 6",
    ),
    Promise(
        "surface-teaching-errors",
        "Unknown names are answered with the nearest, invalid arguments with pointer, "
        "expectation, received value and a valid example; nothing was called.",
        "issue 2, section 6",
    ),
    Promise(
        "surface-search",
        "A search answers with short signatures inside a token budget, and with the groups where "
        "nothing fits; text and structured content are each complete.",
        "issue 2, section 6",
    ),
    Promise(
        "surface-describe",
        "A description holds all a caller may rely on; what is not declared is unknown, not safe.",
        "issue 2, section 6",
    ),
    Promise(
        "surface-call-list",
        "A list of calls runs at once, answers in order, and each failure is its own.",
        "issue 2, section 6",
    ),
    Promise(
        "surface-own-faults",
        "A fault of toolcrib becomes an answer with code `internal`; the server lives on.",
        "ARCHITECTURE, rule 2",
    ),
    Promise(
        "surface-progress",
        "Progress reaches who asked for it, and a caller that gives up cancels the call at the "
        "source.",
        "issue 2, section 6",
    ),
    Promise(
        "surface-meta-allow-list",
        "Of a caller's `_meta` only the trace travels on to a source.",
        "MCP.md, section 3",
    ),
    Promise(
        "surface-policy",
        "What the policy hides is not counted, found, described or called.",
        "ARCHITECTURE, section 4",
    ),
    Promise(
        "surface-stable-list",
        "The tool list changes only when what its endpoint shows does, and is then announced to "
        "both generations, once a burst.",
        "ARCHITECTURE, rule 9",
    ),
    Promise(
        "surface-publish",
        "Entries and Python files are registered from outside while the crib runs, where the "
        "operator allows it.",
        "issue 2, section 4",
    ),
    Promise(
        "surface-failed-publish",
        "A publication that fails leaves the catalogue as it was: no new source, the old one kept.",
        "issue 2, section 4",
    ),
    Promise(
        "surface-http-address",
        "A taken port or a wrong address is refused with what to do, and only known hosts and "
        "origins are served.",
        "issue 2, section 6",
    ),
    Promise(
        "surface-ends-gracefully",
        "Told to end, it turns away new requests, gives running ones a bounded time, and closes "
        "what it opened.",
        "ARCHITECTURE, rule 10",
    ),
    Promise(
        "surface-stdio-clean",
        "Standard output carries the protocol and nothing else.",
        "issue 2, section 6",
    ),
)

COMMAND_LINE: Final = (
    Promise(
        "cli-import-shapes",
        "The configurations of Claude Desktop, Claude Code, Cursor, VS Code and Windsurf are read.",
        "issue 2, section 7",
    ),
    Promise(
        "cli-import-comments",
        "Comments, trailing commas and a byte order mark in a configuration are read over.",
        "issue 2, section 7",
    ),
    Promise(
        "cli-import-alone",
        "An entry that is no source is skipped with its reason; the others are imported.",
        "issue 2, section 7",
    ),
    Promise(
        "cli-exit-codes",
        "A failed command says why on standard error and ends with a code that tells what to do.",
        "issue 2, section 7",
    ),
    Promise(
        "cli-no-traceback",
        "Bad input, a bad home, a newer database or a taken port is a sentence, not a traceback.",
        "issue 2, section 7",
    ),
    Promise(
        "cli-search-light",
        "Searching and reading start no source and load neither MCP nor a web server; a search "
        "reads the database without SQLAlchemy and loads no models of contracts.",
        "issue 2, section 7",
    ),
    Promise(
        "serve-first-answer",
        "A starting crib lists its tools before encoder and index are loaded and sources connect; "
        "a question that comes meanwhile waits for its answer.",
        "issue 2, section 9",
    ),
    Promise(
        "cli-changes-take-effect",
        "What one command changes is served by a running crib without restart or dropped calls.",
        "issue 2, section 7",
    ),
    Promise(
        "cli-serve-stdio",
        "A client may start the crib itself over standard streams; their end ends it.",
        "issue 2, section 7",
    ),
    Promise(
        "cli-publish-again",
        "Publishing the same again changes nothing.",
        "issue 2, section 4",
    ),
    Promise(
        "cli-publish-joins",
        "A second publication of the same source joins the first.",
        "issue 2, section 4",
    ),
    Promise(
        "cli-publish-stays",
        "What was published is there after a restart, as it was.",
        "issue 2, section 4",
    ),
    Promise(
        "cli-demo-offline",
        "The demo goes on with what there is, in a folder of its own, and calls what it found.",
        "issue 2, section 9",
    ),
)

CLIENT: Final = (
    Promise(
        "client-transports",
        "The client reaches a crib by URL, as a command, and in process, in both generations of "
        "MCP.",
        "issue 2, section 8",
    ),
    Promise(
        "client-raw-results",
        "Digits beyond 2^53, unknown fields and odd blocks of a result reach the caller as they "
        "were sent.",
        "issue 2, section 8",
    ),
    Promise(
        "client-typed-errors",
        "Every error code of the crib has a class of its own or a stated one, and `unwrap()` "
        "raises it.",
        "issue 2, section 8",
    ),
    Promise(
        "client-concurrency",
        "Any number of tasks use one client at the same time.",
        "issue 2, section 8",
    ),
    Promise(
        "client-bounded-waits",
        "Every wait of the client ends; a call without an answer has an unknown outcome.",
        "ARCHITECTURE, rule 10",
    ),
    Promise(
        "client-reconnects",
        "A lost connection is opened again when it is needed; a question is then asked again, "
        "once.",
        "issue 2, section 8",
    ),
    Promise(
        "client-never-repeats-calls",
        "The client never sends a call twice.",
        "ARCHITECTURE, rule 5",
    ),
    Promise(
        "client-tool-formats",
        "Tools come as definitions for OpenAI (chat and responses), Anthropic, Gemini and MCP.",
        "issue 2, section 8",
    ),
    Promise(
        "client-dispatch",
        "A model's tool call of any of these forms is answered in its form; failures are "
        "readable answers.",
        "issue 2, section 8",
    ),
    Promise(
        "client-publish",
        "Contracts, functions, files and modules are published while the crib runs; twice is once.",
        "issue 2, section 4",
    ),
    Promise(
        "client-quickstart",
        "The quickstart of the README runs on an empty home and prints what is printed there.",
        "issue 2, section 8",
    ),
    Promise(
        "client-example-agents",
        "The example agents run against a scripted model endpoint and a real crib.",
        "issue 2, section 8",
    ),
)

OPERATOR: Final = (
    Promise(
        "overlay-survives-the-source",
        "An overlay stays on its tool when the source lists it again, changed or not.",
        "issue 3, section 1",
    ),
    Promise(
        "overlay-makes-versions",
        "What an overlay changes is a version of its own: patch for text, minor for behaviour and "
        "when to use, major for preset and hidden arguments.",
        "issue 3, section 1",
    ),
    Promise(
        "overlay-restores",
        "Without its overlay a tool is what its source offers, under the version it had.",
        "issue 3, section 1",
    ),
    Promise(
        "overlay-presets",
        "Preset arguments are sent with every call; callers neither see them nor give them, and "
        "what is sent fits the source's own schema.",
        "issue 3, section 1",
    ),
    Promise(
        "overlay-hides",
        "A hidden tool is neither found nor listed nor called, until it is shown again.",
        "issue 3, section 1",
    ),
    Promise(
        "overlay-misfit-holds",
        "A tool whose preset or hidden arguments do not fit its source any more is held with the "
        "reason, never called without them; its siblings live.",
        "issue 3, section 1",
    ),
    Promise(
        "overlay-commands",
        "Overlays are laid in parts, shown, listed and taken away from the command line.",
        "issue 3, section 1",
    ),
    Promise(
        "overlay-declares",
        "An overlay declares what MCP has no words for: how an idempotency key travels, error "
        "codes, a degraded form, a batch form.",
        "issue 4, section 2",
    ),
    Promise(
        "groups-across-sources",
        "A group holds tools of any source; it is made, filled, described and dropped at run time.",
        "issue 3, section 1",
    ),
    Promise(
        "refresh-now",
        "A source is asked for its list at once where it runs, over the connection it has, and "
        "what changed is told; one that runs nowhere is connected for it.",
        "issue 3, section 1",
    ),
    Promise(
        "config-file",
        "A file declares sources, groups, overlays, profiles, limits and policies; variables stay "
        "unexpanded, Windows paths and any text are fine.",
        "issue 3, section 1",
    ),
    Promise(
        "config-errors-placed",
        "What is wrong in a file is told with file, line and key, all of it at once; unknown keys "
        "are warned about, unknown tables and a file that says nothing are refused.",
        "issue 3, section 1",
    ),
    Promise(
        "config-all-or-nothing",
        "A file is applied in one commit, or nothing is changed.",
        "issue 3, section 1",
    ),
    Promise(
        "config-only-what-changed",
        "Applying a file touches only what differs; the same file again changes nothing.",
        "issue 3, section 1",
    ),
    Promise(
        "config-removes-its-own",
        "A file takes out what an earlier one of its name put in and it does not name; anything "
        "else only when pruning, and never what another file put in.",
        "issue 3, section 1",
    ),
    Promise(
        "config-reload",
        "A serving crib applies its file again on SIGHUP or when it changes, without breaking off "
        "a call; a file that is wrong, empty or being written leaves all as it is.",
        "issue 3, section 1",
    ),
    Promise(
        "config-limits-and-policies",
        "Limits and policies of the file hold for the endpoint where no option is given.",
        "issue 3, section 1",
    ),
    Promise(
        "config-export",
        "The present state is written as a file that changes nothing when applied, without any "
        "value of the environment.",
        "issue 3, section 1",
    ),
    Promise(
        "config-schema",
        "The JSON Schema of the file is published, and what is exported fits it.",
        "issue 3, section 1",
    ),
    Promise(
        "field-o47-reload",
        "A configuration with a fault at a line keeps the old state; an unchanged one connects "
        "nothing anew.",
        "field case O-47",
    ),
)

FIELD: Final = (
    Promise(
        "search-index-agrees",
        "The index agrees with the catalogue after deletes, edits, damage and changes while nobody "
        "looked.",
        "field case O-36",
    ),
    Promise(
        "search-killed-while-saving",
        "A process killed while it saves the index costs nothing but time.",
        "field case O-36",
    ),
    Promise(
        "search-model-changed",
        "Vectors of another model, or made by other rules, are never used; words answer meanwhile.",
        "field case O-37",
    ),
    Promise(
        "search-model-missing",
        "A model that cannot be loaded means words only, says so, and costs no index.",
        "field case O-37",
    ),
    Promise(
        "search-exact-names",
        "A tool that is named is found first, in any spelling; several names each get a place.",
        "field case O-38",
    ),
    Promise(
        "search-peoples-words",
        "People's words find tools described in other words; codes and host names are found.",
        "field case O-39",
    ),
    Promise(
        "search-nothing-fits",
        "Gibberish finds nothing; a name is found however little it means.",
        "field case O-39",
    ),
    Promise(
        "search-languages",
        "Text without spaces, with accents or in full width is found by its words.",
        "field case O-40",
    ),
    Promise(
        "search-odd-queries",
        "No query breaks the search: blank, one letter, 10,000 letters, emoji.",
        "field case O-40",
    ),
    Promise(
        "search-offline",
        "Searching opens no connection and works without a network, by words and by meaning.",
        "field case O-41",
    ),
    Promise(
        "field-o04-judged-alone",
        "One malformed tool is quarantined with the place and the reason; its siblings live.",
        "field case O-04",
    ),
    Promise(
        "field-o05-published-root",
        "Combinators at the root are published as one list of properties, with the rule retold.",
        "field case O-05",
    ),
    Promise(
        "field-o05-exact-check",
        "What is published never weakens the check: the exact schema checks.",
        "field case O-05",
    ),
    Promise(
        "field-o06-references",
        "References are written out within bounds; a cycle keeps its references and definitions.",
        "field case O-06",
    ),
    Promise(
        "field-o07-no-properties",
        "A schema without properties is published with none and takes any arguments.",
        "field case O-07",
    ),
    Promise(
        "field-o08-old-dialects",
        "Schemas of draft-04 to 2020-12 check as they are written and are published as 2020-12.",
        "field case O-08",
    ),
    Promise(
        "field-o10-digits",
        "Integers are read, written, compared and fingerprinted digit for digit.",
        "field case O-10",
    ),
    Promise(
        "field-o11-hostile-schemas",
        "No schema or value makes a check fetch, hang or crash; what was not checked is said.",
        "field case O-11",
    ),
    Promise(
        "field-o12-unknown-names",
        "Unknown argument names are reported with the nearest known name, unless the schema is "
        "open.",
        "field case O-12",
    ),
    Promise(
        "field-secrets-by-reference",
        "Secrets come into settings by reference; a variable that is not set stops its source "
        "only, and "
        "no value reaches a state, an error or a log.",
        "field case O-29",
    ),
    Promise(
        "field-noise-on-stdio",
        "Banners, bad bytes, long lines and floods on a server's pipes cost at most their own "
        "call.",
        "field case O-21",
    ),
    Promise(
        "field-no-left-over-processes",
        "Nothing that a server started outlives its connection.",
        "field case O-20",
    ),
    Promise(
        "field-o01-same-name",
        "Two sources may offer the same tool name; both stay callable under names that do not "
        "depend on who came first.",
        "field case O-01",
    ),
    Promise(
        "field-o03-names-are-looked-up",
        "A call is routed by a table, never by cutting its name apart, and names stay when other "
        "sources come.",
        "field case O-03",
    ),
    Promise(
        "field-o04-one-bad-tool",
        "A malformed entry is quarantined with pointer and reason; its siblings live.",
        "field case O-04",
    ),
    Promise(
        "field-o12-unknown-arguments",
        "An argument name the schema does not know is refused with the likely name, or reported "
        "in a lenient group.",
        "field case O-12",
    ),
    Promise(
        "field-o02-original-name",
        "A tool is called by its published name and its source hears the original one.",
        "field case O-02",
    ),
    Promise(
        "field-o07-null-arguments",
        "Missing and null arguments mean none, directly and through `call_tool`.",
        "field case O-07",
    ),
    Promise(
        "field-o10-surface-digits",
        "Integers beyond 2^53 pass the surface digit for digit, both ways, in both generations.",
        "field case O-10",
    ),
    Promise(
        "field-o15-blocks-unchanged",
        "Blocks of every kind reach the caller as the source sent them; odd ones are labelled.",
        "field case O-15",
    ),
    Promise(
        "field-o34-idle-sessions",
        "Sessions expire when left alone, counted from the end of the last call; at the ceiling "
        "the oldest idle one makes room; nothing of an ended one stays.",
        "field case O-34",
    ),
    Promise(
        "field-o38-call-without-search",
        "A known tool is called by name without a search before.",
        "field case O-38",
    ),
    Promise(
        "field-o41-network-cut",
        "Search finds by meaning with the network cut: the encoder comes with the installation.",
        "field case O-41",
    ),
)

EDGES: Final = (
    Promise(
        "field-o24-duplicate-ids",
        'A request id that is in flight on a session is refused, 1 and "1" are two ids, and no '
        "answer ever reaches another request.",
        "field case O-24",
    ),
    Promise(
        "field-o27-hosts",
        "Only listed names and pages reach the tools, a refusal says which setting would let them "
        "in, and forwarded headers are believed from listed proxies only.",
        "field case O-27",
    ),
    Promise(
        "field-o28-forwarding",
        "Of a caller's request only headers that a source's settings list go up, renamed; values "
        "are one caller's own, and are written down nowhere.",
        "field case O-28",
    ),
    Promise(
        "field-o31-addresses",
        "Addresses where clouds keep credentials are never connected to, in no spelling and by no "
        "name or redirect; this machine and private networks as far as the operator allows.",
        "field case O-31",
    ),
    Promise(
        "edge-publish-behind-proxy",
        "An endpoint that more than this machine can reach takes no publications unless it is told "
        "to.",
        "issue 3, section 3",
    ),
    Promise(
        "edge-request-limits",
        "Requests in flight, bodies, headers and the time a body takes are bounded, and a refusal "
        "says the limit.",
        "issue 3, section 3",
    ),
    Promise(
        "edge-behind-nginx",
        "The endpoint works behind nginx with the documented configuration: streams, progress, "
        "sessions, news, cancellation, the check of hosts.",
        "issue 3, section 3",
    ),
    Promise(
        "edge-readiness",
        "`/readyz` says whether requests make sense here, and if not, why.",
        "issue 3, section 3",
    ),
    Promise(
        "edge-numbers",
        "`/metrics` tells live sessions, requests in flight, calls by outcome, sources by state "
        "and refusals by reason.",
        "issue 3, section 3",
    ),
    Promise(
        "edge-drain",
        "Told to end, the endpoint turns new requests away with 503, lets running calls finish, "
        "and answers what is left as its contract says: repeatable, or of unknown outcome.",
        "issue 3, section 3",
    ),
)

ENDPOINTS: Final = (
    Promise(
        "endpoint-group-list",
        "The endpoint of a group lists the tools of that group under the names their sources gave "
        "them; of two with one name the later one keeps its published name.",
        "issue 3, section 1",
    ),
    Promise(
        "endpoint-one-visibility",
        "What an endpoint does not show is unknown there: not listed, found, described, called or "
        "named as something near.",
        "issue 3, section 1",
    ),
    Promise(
        "endpoint-unknown-404",
        "A group or profile there is not is refused with 404 and the nearest names; one that comes "
        "later is served from then on.",
        "issue 3, section 1",
    ),
    Promise(
        "endpoint-auto-mode",
        "`auto` lists all tools natively while they cost few tokens, with room between the bounds, "
        "and never turns around inside a session.",
        "issue 3, section 1",
    ),
    Promise(
        "endpoint-modes",
        "`dynamic` lists the meta-tools and what is pinned, `full` every tool, in pages and in one "
        "order; whatever is listed, every tool that an endpoint shows can be called by name.",
        "issue 3, section 1",
    ),
    Promise(
        "endpoint-native-form",
        "A tool that is listed natively says all that its contract does and is valid on every "
        "wire; the endpoint of a group shows it as its source sent it.",
        "issue 3, section 1",
    ),
    Promise(
        "endpoint-profiles",
        "A profile shows the tools of its groups and its pins to one kind of client, and nothing "
        "else.",
        "issue 3, section 1",
    ),
    Promise(
        "endpoint-empty-says-why",
        "An endpoint without tools names the likely reason in its list, its instructions and its "
        "answers.",
        "issue 3, section 1",
    ),
    Promise(
        "field-o47-no-tools",
        "A list of no tools never reaches a model without a word on why there are none.",
        "O-47",
    ),
    Promise(
        "cli-profiles",
        "Profiles are made, changed, shown and taken away from the command line; what cannot be is "
        "refused with what would help, and changes nothing.",
        "issue 3, section 1",
    ),
    Promise(
        "endpoint-profile-limits",
        "No call of a profile takes longer, and no more of them run at once, than it allows.",
        "issue 3, section 1",
    ),
)

INTERACTION: Final = (
    Promise(
        "interaction-questions",
        "What a source asks in the middle of a call (a form, a page, a model, folders) reaches "
        "the caller of that call in all four pairs of generations, and its answer comes back.",
        "issue 3, section 2",
    ),
    Promise(
        "interaction-abilities",
        "Nothing is offered to a source that the caller did not declare; an older source is "
        "told once what some caller may answer.",
        "issue 3, section 2",
    ),
    Promise(
        "interaction-lists",
        "Nobody is asked within a list of calls; the call that asks is answered as `needs_human`.",
        "issue 3, section 2",
    ),
    Promise(
        "interaction-attribution",
        "A question is put to the person whose call asks it, or to nobody.",
        "issue 3, section 2",
    ),
    Promise(
        "interaction-patience",
        "The time limit of a call stands still while a person is asked.",
        "issue 3, section 2",
    ),
    Promise(
        "interaction-refusals",
        "A person's no and a client's error reach the source, or end the call.",
        "issue 3, section 2",
    ),
    Promise(
        "interaction-withdrawn",
        "A question of a call that is cancelled is withdrawn from the person.",
        "issue 3, section 2",
    ),
    Promise(
        "interaction-sealed",
        "What a stateless caller brings back is sealed: bound to its call and a time, refused "
        "with a reason after any change.",
        "issue 3, section 2",
    ),
    Promise(
        "interaction-replicas",
        "A second process of the same crib goes on where the first one asked.",
        "issue 3, section 2",
    ),
    Promise(
        "interaction-key-ring",
        "The keys are in one file of one owner, made once, shared by all replicas.",
        "issue 3, section 2",
    ),
    Promise(
        "interaction-key-rotation",
        "After a rotation the new key seals and the older ones open.",
        "issue 3, section 2",
    ),
    Promise(
        "interaction-parked",
        "The call of an older source waits for a stateless caller, so long, so many, and is "
        "cancelled at the source when nobody comes.",
        "issue 3, section 2",
    ),
    Promise(
        "interaction-parked-elsewhere",
        "An answer for a call that waits in another process says where.",
        "issue 3, section 2",
    ),
    Promise(
        "interaction-stdio-modern",
        "A stateless client over one pipe answers by calling again.",
        "issue 3, section 2",
    ),
    Promise(
        "interaction-own-tasks",
        "A long call goes on as a task for a caller that declares the extension: looked at, "
        "answered, cancelled; it says that a restart ends it.",
        "issue 3, section 2",
    ),
    Promise(
        "interaction-source-tasks",
        "A task of a source passes through, under an id that leads back to it from any replica.",
        "issue 3, section 2",
    ),
    Promise(
        "interaction-task-ids",
        "Tasks are for callers that declare them; an id that was not given out leads nowhere.",
        "issue 3, section 2",
    ),
    Promise(
        "conformance-tasks",
        "Every tasks scenario of the official suite passes behind toolcrib.",
        "issue 3, section 4",
    ),
    Promise(
        "field-o13-shape",
        "A result that breaks its output schema is delivered with its blocks and a flag, counted, "
        "and never repeated; a failure is not checked.",
        "field case O-13",
    ),
    Promise(
        "surface-wrapped-results",
        "Results that are no objects travel wrapped to older clients, and lists say so.",
        "issue 3, section 2",
    ),
    Promise(
        "field-o22-cancel",
        "A cancelled call is cancelled at the source under the source's own request id, through "
        "every form of call.",
        "field case O-22",
    ),
    Promise(
        "field-o22-disconnect",
        "The call of a client that left is cancelled at the source, in both generations.",
        "field case O-22",
    ),
    Promise(
        "field-o22-progress",
        "Progress carries the caller's own token; none is sent that was not asked for.",
        "field case O-22",
    ),
    Promise(
        "field-o26-nobody-to-ask",
        "A question that its caller cannot answer is declined at once, and the call ends with "
        "an error for a person.",
        "field case O-26",
    ),
)

MANY_SOURCES: Final = (
    Promise(
        "field-o32-many-sources",
        "Stored tools are there at once; sources that are dead, silent or missing hold up no "
        "other, "
        "are named with the reason, and are served as soon as they can be reached.",
        "field case O-32",
    ),
)

OTHER_CLIENTS: Final = (
    Promise(
        "clients-table",
        "What other MCP clients can do through toolcrib is what the table in the documentation "
        "says.",
        "issue 3, section 4",
    ),
)

WAYS_IN: Final = (
    Promise(
        "attach-shared",
        "Clients that each start `toolcrib serve --stdio` on one home share one crib, which runs "
        "the sources once and ends with the last of them.",
        "issue 3, section 1",
    ),
    Promise(
        "attach-race",
        "Of clients that start at the same moment exactly one starts a crib.",
        "issue 3, section 1",
    ),
    Promise(
        "attach-takeover",
        "If the shared crib ends, its clients go on with the next one, in both generations of the "
        "protocol; calls that ran are answered first or said to be of unknown outcome, never sent "
        "twice if they have no key and do not only read.",
        "issue 3, section 1",
    ),
    Promise(
        "attach-keyed",
        "A call with an idempotency key, or of a tool listed as one that only reads, is sent to "
        "the next crib once, if the first was killed; with a key it is carried out once.",
        "issue 3, section 1",
    ),
    Promise(
        "attach-stale-socket",
        "What a crib that was killed leaves behind is no obstacle to the next one.",
        "issue 3, section 1",
    ),
    Promise(
        "attach-long-path",
        "A home whose path is too long for a socket is shared by a socket elsewhere, in a "
        "folder of the user's own.",
        "issue 3, section 1",
    ),
    Promise(
        "attach-environment",
        "A client's folder and environment do not change what shared sources see; where variables "
        "that they use differ, the client is told, without their values.",
        "issue 3, section 1",
    ),
    Promise(
        "attach-options",
        "A client of a shared crib gets the group, profile or mode that it was started with.",
        "issue 3, section 1",
    ),
    Promise(
        "attach-versions",
        "A running crib of another version is attached to and named; beside one of another form a "
        "client runs a crib of its own.",
        "issue 3, section 1",
    ),
    Promise(
        "attach-alone",
        "`--no-attach` gives a client a crib of its own, as does a database that is not the "
        "running crib's.",
        "issue 3, section 1",
    ),
    Promise(
        "attach-http",
        "A crib that serves HTTP serves the clients on standard streams of its home and the calls "
        "of the command line, too; one that clients started makes way for it.",
        "issue 3, section 1",
    ),
    Promise(
        "attach-lines",
        "Messages of many megabytes and odd bytes pass through a bridge; a client that does not "
        "read holds up no other.",
        "issue 3, section 1",
    ),
    Promise(
        "connect-clients",
        "`toolcrib connect` knows where each client keeps its servers on each system, and writes "
        "what `toolcrib import` reads.",
        "issue 3, section 1",
    ),
    Promise(
        "connect-print",
        "Without --write, `toolcrib connect` prints the client's entry and where it belongs, and "
        "changes nothing.",
        "issue 3, section 1",
    ),
    Promise(
        "connect-write",
        "`toolcrib connect --write` keeps comments, order, permissions and symbolic links of the "
        "client's file, and a backup of it.",
        "issue 3, section 1",
    ),
    Promise(
        "connect-undo",
        "`toolcrib connect --undo` takes back what it changed and keeps what the user changed.",
        "issue 3, section 1",
    ),
    Promise(
        "connect-replace",
        "`toolcrib connect --replace` takes the servers that the crib serves out of the client's "
        "file, and --undo puts them back.",
        "issue 3, section 1",
    ),
    Promise(
        "connect-malformed",
        "A client's file that cannot be read, or changed safely, stays as it is.",
        "issue 3, section 1",
    ),
    Promise(
        "store-last-failures",
        "How a source failed last is told also while no crib runs.",
        "issue 3, section 1",
    ),
    Promise(
        "shown-addresses",
        "Users, passwords and query values in addresses of sources are masked wherever a person "
        "looks at them.",
        "issue 3, section 1",
    ),
    Promise(
        "read-only-home",
        "A home that may only be read is read, without its index, too; output that cannot be "
        "written is told in a sentence.",
        "issue 3, section 1",
    ),
    Promise(
        "doctor-well",
        "`toolcrib doctor` says of a crib that is well that nothing is wrong, and ends with 0.",
        "issue 3, section 1",
    ),
    Promise(
        "doctor-says",
        "`toolcrib doctor` says what is wrong with sources, variables, names, quarantines, "
        "encoder, index, database, permissions, the running crib and what was left behind, with "
        "the value and what mends it, and ends with 1 if something does not work.",
        "issue 3, section 1",
    ),
    Promise(
        "doctor-mends",
        "`toolcrib doctor --mend` mends what can be mended without doubt, and nothing else.",
        "issue 3, section 1",
    ),
    Promise(
        "search-mends-index",
        "`toolcrib search` completes an index that is damaged, lost or behind before it answers.",
        "issue 3, section 1",
    ),
    Promise(
        "attach-signal",
        "A bridge ends at once when told to, also while its client does not read.",
        "issue 3, section 1",
    ),
)

UNRULY_SOURCES: Final = (
    Promise(
        "unruly-bodies",
        "An answer over HTTP of more than 64 MiB, counted after decompression, fails its own call.",
        "issue 3, section 1",
    ),
    Promise(
        "unruly-hanging",
        "A source that lets a call or a refresh wait in vain and answers no ping is ended, "
        "connected anew, and says so.",
        "issue 3, section 1",
    ),
    Promise(
        "unruly-lists",
        "A source whose list changes again and again is asked ever more rarely, up to once a "
        "minute, and the vectors of its former tools are forgotten.",
        "issue 3, section 1",
    ),
)

PROMISES: Final = (
    *HOUSE,
    *CONTRACT,
    *SCHEMA,
    *CATALOGUE,
    *SOURCES,
    *SEARCH,
    *SURFACE,
    *COMMAND_LINE,
    *CLIENT,
    *OPERATOR,
    *FIELD,
    *EDGES,
    *ENDPOINTS,
    *INTERACTION,
    *PASS_THROUGH,
    *MANY_SOURCES,
    *OTHER_CLIENTS,
    *WAYS_IN,
    *UNRULY_SOURCES,
    *FAULTY_PEERS,
    *UPSTREAM_LIFE,
    *HTTP_WEATHER,
    *REPAIR,
    *LIMITS,
    *LEDGER,
    *HEALING,
    *HANDLES,
    *CALL_RECORDS,
    *VERSIONS,
)
