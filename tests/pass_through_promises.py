"""What toolcrib promises of all that passes through it besides tools; see `requirements.py`."""

from __future__ import annotations

from typing import Final

from tests.promise import Promise

PASS_THROUGH: Final = (
    Promise(
        "field-o25-generations",
        "A call works the same between callers of every revision and sources of 2024-11-05, "
        "2025-11-25 and 2026-07-28, whichever SDK they are made with.",
        "field case O-25",
    ),
    Promise(
        "generations-matrix",
        "Between callers of both protocol generations and sources of both, over pipes and HTTP, "
        "lists, calls, errors, progress, cancellation and questions work; unknown sessions are "
        "refused.",
        "issue 3, section 4",
    ),
    Promise(
        "pass-resources",
        "Resources and templates of sources of both generations are listed and read by callers of "
        "both, with their icons and `_meta`, at the endpoint of the group under their own URIs.",
        "issue 3, section 2",
    ),
    Promise(
        "pass-prompts",
        "Prompts of sources are listed and got, at the endpoint of the group under their own "
        "names, with their icons and blocks.",
        "issue 3, section 2",
    ),
    Promise(
        "pass-completions",
        "Completions come from the source of the prompt or resource template that they are for.",
        "issue 3, section 2",
    ),
    Promise(
        "pass-logs",
        "What a source logs during a call goes to the caller of that call, from the level on that "
        "the caller asked for; a caller of 2026-07-28 that asked for none gets none.",
        "issue 3, section 2",
    ),
    Promise(
        "pass-meta",
        "Of a caller's `_meta` nothing goes to a source but the trace context.",
        "issue 3, section 2",
    ),
    Promise(
        "pass-odd-entries",
        "An odd entry of a list of resources, templates or prompts is left out; its siblings stay.",
        "issue 3, section 2",
    ),
    Promise(
        "pass-own-errors",
        "The refusal of a source arrives with its code, words and data.",
        "issue 3, section 2",
    ),
    Promise(
        "pass-unambiguous",
        "Where a URI or name could be several sources' own it is shown with its source, in lists, "
        "templates, links and prompts alike, and understood in that form.",
        "issue 3, section 2",
    ),
    Promise(
        "pass-capabilities",
        "An endpoint says that it offers what one of its sources offers, and nothing else.",
        "issue 3, section 2",
    ),
    Promise(
        "pass-subscriptions",
        "Callers of both generations hear of changes of the resources that they subscribed to; a "
        "source is told once for all of them, and that it is over when the last has left.",
        "issue 3, section 2",
    ),
    Promise(
        "field-o23-list-changes",
        "Fifty notices of a changed list in a second make at most two new lists, and callers hear "
        "of it once, if the list that they see is another one.",
        "field case O-23",
    ),
    Promise(
        "conformance-behind-toolcrib",
        "The everything-server of the MCP SDK passes the official conformance suite behind "
        "toolcrib, at the endpoint of its group, check for check as it does alone.",
        "issue 3, section 4",
    ),
    Promise(
        "conformance-plain-endpoint",
        "At the plain endpoint the suite fails nothing but what is listed with its reason.",
        "issue 3, section 4",
    ),
)
