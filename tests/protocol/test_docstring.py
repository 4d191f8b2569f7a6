"""The three common docstring styles tell the same things."""

from __future__ import annotations

import pytest

from toolcrib_protocol.docstring import Docstring, read_docstring

GOOGLE = """Books a table.

    The kitchen closes at ten.

    Args:
        place: where,
            in words.
        guests (int, optional): how many: at most eight
        *notes: anything

        late : after nine

    Returns:
        The booking.

    Raises:
        KeyError: no such place
        shop.Full: every table is taken
    """

NUMPY = """Books a table.

    The kitchen closes at ten.

    Parameters
    ----------
    place : str
        where,
        in words.
    guests : int, optional
        how many: at most eight
    notes
        anything
    late : bool
        after nine

    Returns
    -------
    Booking
        The booking.

    Raises
    ------
    KeyError
        no such place
    shop.Full
        every table is taken
    """

REST = """Books a table.

    The kitchen closes at ten.

    :param str place: where,
        in words.
    :param guests: how many: at most eight
    :arg notes: anything
    :param late: after nine
    :type late: bool
    :returns: The booking.
    :raises KeyError: no such place
    :raises shop.Full: every table is taken
    """

EXPECTED = Docstring(
    "Books a table.\n\nThe kitchen closes at ten.",
    {
        "place": "where, in words.",
        "guests": "how many: at most eight",
        "notes": "anything",
        "late": "after nine",
    },
    {"KeyError": "no such place", "shop.Full": "every table is taken"},
)


@pytest.mark.promise("python-function-contract")
@pytest.mark.parametrize("text", [GOOGLE, NUMPY, REST], ids=["google", "numpy", "rest"])
def test_each_style_gives_text_parameters_and_errors(text: str) -> None:
    assert read_docstring(text) == EXPECTED


@pytest.mark.parametrize("text", [None, "", "   \n  "])
def test_no_docstring_says_nothing(text: str | None) -> None:
    assert read_docstring(text) == Docstring()


def test_a_word_that_only_looks_like_a_section_stays_text() -> None:
    text = "Counts.\n\nExamples are below\nArgs\nNote: this is prose."
    assert read_docstring(text).text == text


def test_lines_of_a_section_that_are_no_entries_are_passed_over() -> None:
    read = read_docstring("Counts.\n\nArgs:\n    just prose here\n    word: the word\n")
    assert read.parameters == {"word": "the word"}


def test_an_empty_section_and_unknown_fields_are_passed_over() -> None:
    assert read_docstring("Counts.\n\nArgs:\n") == Docstring("Counts.")
    assert read_docstring("Counts.\n\n:param: nothing\n:rtype: int\nloose line") == Docstring(
        "Counts."
    )


def test_one_line_can_describe_two_numpy_parameters() -> None:
    read = read_docstring("Adds.\n\nParameters\n----------\na, b : int\n    a number\n")
    assert read.parameters == {"a": "a number", "b": "a number"}
