"""Counts and amounts in the database, some of which older versions stored as a provider had said them."""

from typing import Any

from sqlalchemy import Column, ColumnElement, case, cast

_MOST = 10**15
"""More than the tokens or US dollars of any row, of which thousands still add up within 64 bits."""


def plausible(column: Column[Any]) -> ColumnElement[Any]:
    """Return the value of a column, or 0 for one that no call can have: negative, infinite, or too large to add up."""
    return cast(case((column.between(0, _MOST), column), else_=0), column.type).label(column.name)
