"""How slots and tokens are shared out: never more than there are, never nobody's turn."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolcrib_registry.limits.lease_terms import Book, settled
from toolcrib_registry.ports import Grant, Wish

SECONDS = 5.0


def slots(cap: int, slots: int, running: int = 0) -> Wish:
    return Wish(cap, None, 1.0, running, slots)


def tokens(rate: float, burst: float, tokens: int, returned: int = 0) -> Wish:
    return Wish(None, rate, burst, tokens=tokens, returned=returned)


def test_slots_are_given_as_long_as_there_are_any_and_come_back_when_a_lease_ends() -> None:
    book, grant = settled(Book(), "a", slots(3, 2), 0.0, SECONDS)
    assert grant == Grant(2)
    book, grant = settled(book, "b", slots(3, 3), 1.0, SECONDS)
    assert grant.slots == 1
    _, grant = settled(book, "b", slots(3, 3, running=1), 4.9, SECONDS)
    assert grant.slots == 1
    _, grant = settled(book, "b", slots(3, 3, running=1), 5.0, SECONDS)
    assert grant == Grant(3)
    assert settled(book.without("a"), "b", slots(3, 3), 2.0, SECONDS)[1].slots == 3


def test_who_holds_more_than_its_share_is_told_when_others_go_without() -> None:
    book, _ = settled(Book(), "a", slots(4, 4), 0.0, SECONDS)
    book, grant = settled(book, "b", slots(4, 4), 1.0, SECONDS)
    assert grant == Grant(0)
    book, grant = settled(book, "a", slots(4, 9, running=4), 2.0, SECONDS)
    assert grant == Grant(4, share=2)
    book, grant = settled(book, "a", slots(4, 9, running=3), 2.1, SECONDS)
    assert grant == Grant(3, share=2)
    book, grant = settled(book, "b", slots(4, 4), 2.2, SECONDS)
    assert grant.slots == 1


def test_a_single_slot_goes_round() -> None:
    book, _ = settled(Book(), "a", slots(1, 1), 0.0, SECONDS)
    book, _ = settled(book, "b", slots(1, 1), 0.1, SECONDS)
    book, _ = settled(book, "c", slots(1, 1), 0.2, SECONDS)
    book, grant = settled(book, "a", slots(1, 5, running=1), 0.3, SECONDS)
    assert grant == Grant(1, share=0)
    book, grant = settled(book, "a", slots(1, 5), 0.4, SECONDS)
    assert grant.slots == 0
    assert settled(book, "c", slots(1, 1), 0.5, SECONDS)[1].slots == 0
    book, grant = settled(book, "b", slots(1, 1), 0.5, SECONDS)
    assert grant.slots == 1
    book, _ = settled(book, "b", slots(1, 0), 0.6, SECONDS)
    assert settled(book, "a", slots(1, 5), 0.7, SECONDS)[1].slots == 0
    assert settled(book, "c", slots(1, 1), 0.8, SECONDS)[1].slots == 1


def test_who_only_waits_changes_nothing_in_the_book_until_its_time_runs_short() -> None:
    book, _ = settled(Book(), "a", slots(1, 1, running=1), 0.0, SECONDS)
    book, _ = settled(book, "b", slots(1, 1), 0.0, SECONDS)
    again, _ = settled(book, "b", slots(1, 1), 0.9, SECONDS)
    assert again == book
    later, _ = settled(book, "b", slots(1, 1), 1.1, SECONDS)
    assert later.holdings["b"].expires == 1.1 + SECONDS
    assert later.holdings["b"].since == 0.0


def test_what_ran_out_is_granted_anew_only_as_far_as_there_is_room() -> None:
    book, _ = settled(Book(), "a", slots(2, 2), 0.0, SECONDS)
    assert settled(book, "a", slots(2, 1), 6.0, SECONDS)[1].slots == 1
    book, _ = settled(book, "b", slots(2, 1), 5.5, SECONDS)
    _, grant = settled(book, "a", slots(2, 2), 6.0, SECONDS)
    assert grant.slots == 1
    # What runs already cannot be taken back: a process that slept finishes what it had sent.
    _, grant = settled(book, "a", slots(2, 2, running=2), 6.0, SECONDS)
    assert grant.slots == 2


def test_who_wants_nothing_is_not_in_the_book() -> None:
    book, _ = settled(Book(), "a", slots(3, 2), 0.0, SECONDS)
    assert settled(book, "a", slots(3, 0), 1.0, SECONDS) == (Book(), Grant(0))


def test_tokens_come_at_the_rate_and_those_that_were_not_used_go_back() -> None:
    book, grant = settled(Book(), "a", tokens(10, 2, 5), 100.0, SECONDS)
    assert (grant.tokens, grant.again_in) == (2, 0.1)
    again, grant = settled(book, "b", tokens(10, 2, 5), 100.05, SECONDS)
    assert again == book
    assert (grant.tokens, round(grant.again_in, 3)) == (0, 0.05)
    book, grant = settled(book, "b", tokens(10, 2, 1), 100.15, SECONDS)
    assert grant.tokens == 1
    book, grant = settled(book, "b", tokens(10, 2, 0, returned=1), 100.15, SECONDS)
    assert settled(book, "a", tokens(10, 2, 9), 100.15, SECONDS)[1].tokens == 1
    # A clock that goes back gives nothing, and takes nothing away.
    assert settled(book, "a", tokens(10, 2, 9), 50.0, SECONDS)[1].tokens == 1
    book, grant = settled(book, "a", Wish(None, None, 1.0), 101.0, SECONDS)
    assert (book, grant) == (Book(None, 100.15), Grant(0))


@given(
    cap=st.integers(1, 6),
    moves=st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 8), st.floats(0, 1)), max_size=60
    ),
)
def test_what_is_held_is_never_more_than_the_cap(
    cap: int, moves: list[tuple[str, int, float]]
) -> None:
    book, now = Book(), 0.0
    for crib, wanted, passed in moves:
        now += passed
        book, _ = settled(book, crib, slots(cap, wanted), now, SECONDS)
        held = [one.slots for one in book.holdings.values() if one.expires > now]
        assert sum(held) <= cap
        assert all(n >= 0 for n in held)


@given(
    rate=st.floats(0.5, 100),
    burst=st.integers(1, 20),
    moves=st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 30), st.floats(0, 1))),
)
def test_never_more_tokens_are_given_than_the_burst_and_what_came_since(
    rate: float, burst: int, moves: list[tuple[str, int, float]]
) -> None:
    book, now, given_out = Book(), 0.0, 0
    for crib, wanted, passed in moves:
        now += passed
        book, grant = settled(book, crib, tokens(rate, float(burst), wanted), now, SECONDS)
        given_out += grant.tokens
    assert given_out <= burst + rate * now + 1e-3


def test_more_processes_than_slots_take_turns_and_none_is_left_out() -> None:
    book, now, turns = Book(), 0.0, dict.fromkeys("abcde", 0)
    running = dict.fromkeys("abcde", 0)
    for _ in range(40):
        for crib in turns:
            now += 0.01
            book, grant = settled(book, crib, slots(2, 3, running[crib]), now, SECONDS)
            turns[crib] += grant.slots > running[crib]
            # Every call has ended when its process asks again.
            running[crib] = 0 if running[crib] else grant.slots
            assert sum(running.values()) <= 2
    assert min(turns.values()) >= max(turns.values()) - 1
