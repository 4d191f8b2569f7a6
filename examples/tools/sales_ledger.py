"""One tool with results that are too large for a model. Offer it with

toolcrib add sales --python examples/tools/sales_ledger.py
"""

from __future__ import annotations

from dataclasses import dataclass

from toolcrib_client import tool

CITIES = ("Ulm", "Bonn", "Kiel", "Jena")


@dataclass
class Sale:
    """One line of the ledger."""

    id: int
    city: str
    price: float


@dataclass
class Ledger:
    """What was sold."""

    rows: list[Sale]
    total: float


@tool(read_only=True)
def list_sales(count: int = 5000) -> Ledger:
    """List the newest sales of all shops.

    Args:
        count: how many.
    """
    rows = [Sale(n, CITIES[n % 4], n % 1000 / 10) for n in range(count)]
    return Ledger(rows, sum(row.price for row in rows))


@tool(read_only=True)
def average_price(prices: list[float]) -> float:
    """Say what the average of some prices is.

    Args:
        prices: the prices.
    """
    return sum(prices) / len(prices)
