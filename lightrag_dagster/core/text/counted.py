"""Numbers, times and long lists in words."""

from collections.abc import Sequence


def counted(number: int, one: str, several: str) -> str:
    """Return a number with the words that follow one, or any other number."""
    return f"{number:,} {one if number == 1 else several}"


def some_of(names: Sequence[str], most: int = 8, between: str = ",") -> str:
    """Return the first names of a list, and how many more there are; what is `between` sentences is `;`."""
    more = f"{between.strip(',')} and {len(names) - most:,} more" if len(names) > most else ""
    return f"{between} ".join(names[:most]) + more


def lasting(seconds: float) -> str:
    """Return a time in whole minutes, hours or days, the longest of which there are two."""
    for unit, length in (("day", 86_400), ("hour", 3600)):
        if seconds >= 2 * length:
            return counted(int(seconds // length), unit, f"{unit}s")
    return counted(max(1, int(seconds // 60)), "minute", "minutes")
