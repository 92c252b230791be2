"""Sentences of the world in three languages, with the row that a model would make of each."""

import calendar
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from random import Random
from typing import Literal, NamedTuple

Precision = Literal["day", "month", "quarter", "year"]
Language = Literal["en", "de", "fr"]

MONTHS = {
    "en": ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
           "December"),
    "de": ("Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November",
           "Dezember"),
    "fr": ("janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre",
           "décembre"),
}  # fmt: skip
DAYS = {"en": "{d} {m} {y}", "de": "{d}. {m} {y}", "fr": "{d} {m} {y}"}
QUARTERS = {"en": "Q{q} {y}", "de": "{q}. Quartal {y}", "fr": "{q}e trimestre {y}"}
SINCE = {"en": "since {a}", "de": "seit {a}", "fr": "depuis {a}"}
UNTIL = {"en": "until {b}", "de": "bis {b}", "fr": "jusqu'en {b}"}
RANGE = {"en": "from {a} to {b}", "de": "von {a} bis {b}", "fr": "de {a} à {b}"}
RELATIVE = {
    "en": ("since last year", "for some months", "until recently"),
    "de": ("seit dem vergangenen Jahr", "seit einigen Monaten", "bis vor kurzem"),
    "fr": ("depuis l'an dernier", "depuis quelques mois", "jusqu'à récemment"),
}
SENTENCES = {
    ("led_by", "en"): "{s} is led by {o} {when}.",
    ("led_by", "de"): "{s} wird {when} von {o} geleitet.",
    ("led_by", "fr"): "{s} est dirigée {when} par {o}.",
    ("works_for", "en"): "{s} works for {o} {when}.",
    ("works_for", "de"): "{s} arbeitet {when} für {o}.",
    ("works_for", "fr"): "{s} travaille {when} pour {o}.",
    ("based_in", "en"): "{s} has its seat in {o} {when}.",
    ("based_in", "de"): "{s} hat {when} den Sitz in {o}.",
    ("based_in", "fr"): "{s} a son siège {when} à {o}.",
    ("price", "en"): "The price of {s} is {o} {when}.",
    ("price", "de"): "Der Preis von {s} beträgt {when} {o}.",
    ("price", "fr"): "Le prix de {s} est {when} de {o}.",
    ("founded", "en"): "{s} was founded on {o}.",
    ("founded", "de"): "{s} wurde am {o} gegründet.",
    ("founded", "fr"): "{s} a été fondée le {o}.",
    ("listed", "en"): "{s} {o} listed on the exchange.",
    ("listed", "de"): "{s} {o} an der Börse notiert.",
    ("listed", "fr"): "{s} {o} cotée en bourse.",
}
GROUPS = {"en": ",", "de": ".", "fr": " "}
LISTED = {"en": ("is", "is not"), "de": ("ist", "ist nicht"), "fr": ("est", "n'est pas")}
TYPES = {
    "led_by": ("company", "person"),
    "works_for": ("person", "company"),
    "based_in": ("company", "place"),
    "price": ("product", None),
    "founded": ("company", None),
    "listed": ("company", None),
}
SINGLE = ("led_by", "based_in", "price", "founded", "listed")


class Day(NamedTuple):
    """A date as it is said: that of its first day, or of its last as an end."""

    on: date
    precision: Precision

    @property
    def stored(self) -> tuple[date, str]:
        """The date and precision in the tables, where a quarter has that of a month."""
        return self.on, "month" if self.precision == "quarter" else self.precision

    def said(self, language: Language) -> str:
        """Return it in words."""
        month = MONTHS[language][self.on.month - 1]
        parts = {"d": self.on.day, "m": month, "y": self.on.year, "q": (self.on.month + 2) // 3}
        forms = {"day": DAYS[language], "month": "{m} {y}", "quarter": QUARTERS[language], "year": "{y}"}
        return forms[self.precision].format(**parts)


def first_day(year: int, precision: Precision, chance: Random) -> Day:
    """Return a day of a year on which something may begin."""
    month = {"year": 1, "quarter": chance.choice((1, 4, 7, 10))}.get(precision, chance.randint(1, 12))
    return Day(date(year, month, chance.randint(1, 28) if precision == "day" else 1), precision)


def last_day(year: int, precision: Precision, chance: Random) -> Day:
    """Return a day of a year on which something may end."""
    month = {"year": 12, "quarter": chance.choice((3, 6, 9, 12))}.get(precision, chance.randint(1, 12))
    return Day(date(year, month, 15 if precision == "day" else calendar.monthrange(year, month)[1]), precision)


@dataclass(frozen=True)
class Claim:
    """A fact of the world: an object, a price, a date, or yes or no; and when, if that is said in absolute words."""

    subject: str
    relation: str
    end: str | float | date | bool
    begins: Day | None = None
    ends: Day | None = None
    is_relative: bool = False

    @property
    def is_single(self) -> bool:
        """Whether a subject has one such object or value at a time."""
        return self.relation in SINGLE


@dataclass(frozen=True)
class Sentence:
    """A sentence about a claim, and the row that the model answers."""

    text: str
    claim: Claim
    row: dict[str, str]

    def __hash__(self) -> int:
        return hash(self.text)


def say(claim: Claim, language: Language, called: Callable[[str], str], chance: Random) -> Sentence:
    """Put a claim into words; `called` gives the name that the text has for a subject or an object."""
    subject, of_type = called(claim.subject), TYPES[claim.relation]
    value = "" if of_type[1] else _value(claim.end, language, chance)
    end = called(str(claim.end)) if of_type[1] else value
    when = _when(claim, language, chance)
    said = LISTED[language][not claim.end] if claim.relation == "listed" else end
    text = " ".join(SENTENCES[claim.relation, language].format(s=subject, o=said, when=when).split()).replace(" .", ".")
    row = {"words": text, "subject": subject, "subject_type": of_type[0] or "", "relation": claim.relation}
    row |= {"object": end if of_type[1] else "", "object_type": of_type[1] or "", "value": value, "when": when}
    return Sentence(text, claim, row)


def _when(claim: Claim, language: Language, chance: Random) -> str:
    if claim.is_relative:
        return chance.choice(RELATIVE[language])
    said = {key: one.said(language) for key, one in (("a", claim.begins), ("b", claim.ends)) if one}
    return {"": "", "a": SINCE[language], "b": UNTIL[language], "ab": RANGE[language]}["".join(said)].format(**said)


def _value(end: str | float | date | bool, language: Language, chance: Random) -> str:
    if isinstance(end, bool):
        return "yes" if end else "no"
    if isinstance(end, date):
        return Day(end, "day").said(language)
    whole, cents = f"{end:.2f}".split(".")
    if len(whole) > 3:
        whole = f"{whole[:-3]}{GROUPS[language]}{whole[-3:]}"
    number = f"{whole}{'.' if language == 'en' else ','}{cents}" if cents != "00" else whole
    return chance.choice((f"€ {number}", f"€{number}") if language == "en" else (f"{number} €", f"{number} EUR"))
