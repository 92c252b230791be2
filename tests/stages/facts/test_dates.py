"""Dates in words: each form in eleven languages, what is left unread, and neither clock nor locale in the result."""

import ast
import inspect
import locale
import time
from calendar import monthrange
from collections.abc import Iterator
from datetime import date, timedelta

import pytest
from babel import Locale
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.stages.facts import dates
from lightrag_dagster.stages.facts.dates import When, read_date, read_when

SINGLE = {
    "2024-03-12": [
        *(
            "20240312",
            "20240312T10:00",
            "2024-03-12",
            "on 2024-03-12",
            "2024/3/12",
            "2024.03.12",
            "2024-03-12T14:30:00Z",
            "2024-03-12 14:30",
        ),
        *("12.03.2024", "12. 3. 2024", "am 12.03.2024", "12 March 2024", "March 12, 2024", "Mar. 12 2024"),
        *("the 12th of March, 2024", "Tuesday, 12 March 2024", "12-Mar-2024", "12mar2024", "as of 12 March 2024"),
        *("12. März 2024", "am Dienstag, dem 12. März 2024", "Stand 12.3.2024", "le 12 mars 2024", "au 12 mars 2024"),
        *("el 12 de marzo de 2024", "12 de marzo del 2024", "martedì 12 marzo 2024", "em 12 de março de 2024"),
        *("op 12 maart 2024", "12 mrt. 2024", "12 марта 2024 г.", "12 марта 2024 года", "2024年3月12日"),
        *(
            "mit Wirkung vom 12. März 2024",
            "gültig ab 12.03.2024",
            "wirksam ab 12.3.2024",
            "rückwirkend zum 12.03.2024",
        ),
        *("with effect from 12 March 2024", "valid from 2024-03-12", "met ingang van 12 maart 2024"),
        *(
            "from 12 March 2024 until further notice",
            "ab 12. März 2024 bis auf Weiteres",
            "con efecto desde el 12 de marzo de 2024",
        ),
        *("12 marca 2024", "od 12 marca 2024", "od dnia 12.03.2024 r.", "z dniem 12 marca 2024 r."),
        *("令和6年3月12日", "令和六年三月十二日", "㋿6年3月12日", "w środę 12 marca 2024 r.", "do 12 de março de 2024"),
        *("二〇二四年三月十二日", "2024年3月12日に", "２０２４年３月１２日", "(12.03.2024)", "2024 March 12"),
    ],
    "2024-01-13": ["13/01/2024", "01/13/2024", "13-01-2024", "13 janv. 2024", "13 ene 2024", "1/13/2024"],
    "2024-05-05": ["05/05/2024", "5-5-2024"],
    "2024-01-01": ["1er janvier 2024", "1º de janeiro de 2024", "1 gennaio 2024", "first of January 2024"],
    "2024-02-29": ["29 February 2024", "29.2.2024"],
    "2019-05-01": ["平成31年5月1日", "令和元年5月1日", "od 1 maja 2019", "do dia 1 maio 2019"],
    "2019-08-03": ["3 ago 2019", "3 août 2019", "3 de agosto de 2019"],
}

MONTHS = {
    "2024-03-01": [
        *("2024-03", "March 2024", "in March 2024", "March of 2024", "03.2024", "03/2024", "März 2024", "im März 2024"),
        *("mars 2024", "en mars 2024", "marzo de 2024", "nel marzo 2024", "março de 2024", "maart 2024"),
        *("март 2024", "в марте 2024 года", "2024年3月", "二〇二四年三月", "２０２４年３月"),
        *("w marcu 2024 r.", "marzec 2024", "od marca 2024 roku", "mar 2024"),
        *("since March 2024", "early March 2024"),
    ],
    "2023-07-01": [
        *("Q3 2023", "Q3/2023", "2023-Q3", "2023 Q3", "3Q 2023", "3rd quarter of 2023", "the third quarter of 2023"),
        *("3. Quartal 2023", "im dritten Quartal 2023", "T3 2023", "3e trimestre de 2023", "troisième trimestre 2023"),
        *("3.er trimestre de 2023", "tercer trimestre de 2023", "terzo trimestre del 2023", "3º trimestre de 2023"),
        *("terceiro trimestre de 2023", "K3 2023", "3e kwartaal van 2023", "derde kwartaal 2023"),
        *("III квартал 2023 года", "в 3-м квартале 2023 года", "2023年第三季度", "2023年3季度", "2023年第3四半期"),
        *("III kwartał 2023", "w 3 kwartale 2023 roku", "w trzecim kwartale 2023 r."),
        *("2. Halbjahr 2023", "im zweiten Halbjahr 2023", "H2 2023", "the second half of 2023", "2e semestre de 2023"),
        *("secondo semestre del 2023", "tweede halfjaar 2023", "II półrocze 2023 r.", "2-е полугодие 2023 года"),
        *("since Q3 2023", "ab dem 3. Quartal 2023"),
    ],
}

YEARS = [
    *("2019", "in 2019", "(2019)", "im Jahr 2019", "en 2019", "l'année 2019", "en el año 2019", "nel 2019", "em 2019"),
    *("in het jaar 2019", "в 2019 году", "2019年", "二〇一九年", "２０１９", "early 2019", "Anfang 2019"),
    *("w 2019 roku", "w roku 2019", "2019 r.", "od 2019 roku", "na początku 2019 r.", "od 2019 do dziś", "do ano 2019"),
    "平成31年",
    *("since 2019", "from 2019 onwards", "seit 2019", "ab 2019", "depuis 2019", "à partir de 2019", "desde 2019"),
    *("a principios de 2019", "a inicios de 2019", "a partire dal 2019"),
    *("a partir de 2019", "dal 2019", "sinds 2019", "с 2019 года", "2019年以来", "自2019年起", "2019年から"),
    *(
        "2019–present",
        "since 2019 until today",
        "2019 bis heute",
        "de 2019 à aujourd'hui",
        "2019年至今",
        "from 2019 to the present day",
    ),
]

UNTIL = [
    ("until 2024-05-31", "2024-05-31", "day"),
    ("bis zum 31. Mai 2024", "2024-05-31", "day"),
    ("jusqu'au 31 mai 2024", "2024-05-31", "day"),
    ("hasta el 31 de mayo de 2024", "2024-05-31", "day"),
    ("fino al 31 maggio 2024", "2024-05-31", "day"),
    ("até 31 de maio de 2024", "2024-05-31", "day"),
    ("tot en met 31 mei 2024", "2024-05-31", "day"),
    ("до 31 мая 2024 года", "2024-05-31", "day"),
    ("do 31 maja 2024", "2024-05-31", "day"),
    ("do 31.05.2024 r.", "2024-05-31", "day"),
    ("do końca 2021 roku", "2021-12-31", "year"),
    ("do maja 2024 włącznie", "2024-05-31", "month"),
    ("bis zum 1. Halbjahr 2023", "2023-06-30", "month"),
    ("2024年5月31日まで", "2024-05-31", "day"),
    ("至2024年5月31日", "2024-05-31", "day"),
    ("t/m 31 mei 2024", "2024-05-31", "day"),
    ("up to and including 31 May 2024", "2024-05-31", "day"),
    ("jusqu'au 31 mai 2024 inclus", "2024-05-31", "day"),
    ("until February 2024", "2024-02-29", "month"),
    ("until Q3 2023", "2023-09-30", "month"),
    ("until 2021", "2021-12-31", "year"),
    ("jusqu’en 2021", "2021-12-31", "year"),
    ("bis Ende 2021", "2021-12-31", "year"),
    ("until the end of 2021", "2021-12-31", "year"),
]

RANGES = [
    ("2019–2021", "2019-01-01 year 2021-12-31 year"),
    ("2019-2021", "2019-01-01 year 2021-12-31 year"),
    ("2019/20", "2019-01-01 year 2020-12-31 year"),
    ("2019-21", "2019-01-01 year 2021-12-31 year"),
    ("from May 2019 to 2021", "2019-05-01 month 2021-12-31 year"),
    ("between 2019 and 2021", "2019-01-01 year 2021-12-31 year"),
    ("zwischen 2019 und 2021", "2019-01-01 year 2021-12-31 year"),
    ("von 2019 bis 2021", "2019-01-01 year 2021-12-31 year"),
    ("vom 1. Mai 2019 bis zum 30. Juni 2020", "2019-05-01 day 2020-06-30 day"),
    ("de 2019 à 2021", "2019-01-01 year 2021-12-31 year"),
    ("du 1er mai 2019 au 30 juin 2020", "2019-05-01 day 2020-06-30 day"),
    ("entre 2019 et 2021", "2019-01-01 year 2021-12-31 year"),
    ("de 2019 a 2021", "2019-01-01 year 2021-12-31 year"),
    ("entre mayo de 2019 y junio de 2021", "2019-05-01 month 2021-06-30 month"),
    ("tra il 2019 e il 2021", "2019-01-01 year 2021-12-31 year"),
    ("dal 2019 al 2021", "2019-01-01 year 2021-12-31 year"),
    ("entre 2019 e 2021", "2019-01-01 year 2021-12-31 year"),
    ("van 2019 tot 2021", "2019-01-01 year 2021-12-31 year"),
    ("tussen 2019 en 2021", "2019-01-01 year 2021-12-31 year"),
    ("с 2019 по 2021 год", "2019-01-01 year 2021-12-31 year"),
    ("od 2019 do 2021 roku", "2019-01-01 year 2021-12-31 year"),
    ("od 1 maja 2019 r. do 30 czerwca 2020 r.", "2019-05-01 day 2020-06-30 day"),
    ("od 1.1. do 31.3.2024", "2024-01-01 day 2024-03-31 day"),
    ("od 12 do 15 marca 2024", "2024-03-12 day 2024-03-15 day"),
    ("w latach 2019-2021", "2019-01-01 year 2021-12-31 year"),
    ("H1 2019 to H1 2020", "2019-01-01 month 2020-06-30 month"),
    ("2019年至2021年", "2019-01-01 year 2021-12-31 year"),
    ("2019年から2021年まで", "2019-01-01 year 2021-12-31 year"),
    ("2024-03-01/2024-05-31", "2024-03-01 day 2024-05-31 day"),
    ("01.03.2024-31.05.2024", "2024-03-01 day 2024-05-31 day"),
    ("03.2019-05.2021", "2019-03-01 month 2021-05-31 month"),
    ("from May to July 2019", "2019-05-01 month 2019-07-31 month"),
    ("12–15 March 2024", "2024-03-12 day 2024-03-15 day"),
    ("March 12 – April 5, 2024", "2024-03-12 day 2024-04-05 day"),
    ("March 12–15, 2024", "2024-03-12 day 2024-03-15 day"),
    ("2024年3月12日至15日", "2024-03-12 day 2024-03-15 day"),
    ("vom 12. bis 15. März 2024", "2024-03-12 day 2024-03-15 day"),
    ("с 12 по 15 марта 2024 года", "2024-03-12 day 2024-03-15 day"),
    ("2019年5月から7月まで", "2019-05-01 month 2019-07-31 month"),
    ("2019年5月〜7月", "2019-05-01 month 2019-07-31 month"),
    ("dal 1° maggio al 30 giugno 2020", "2020-05-01 day 2020-06-30 day"),
    ("1 mei t/m 30 juni 2020", "2020-05-01 day 2020-06-30 day"),
    ("2019-July 2021", "2019-01-01 year 2021-07-31 month"),
    ("01.01.-31.03.2024", "2024-01-01 day 2024-03-31 day"),
    ("vom 1.1. bis 31.3.2024", "2024-01-01 day 2024-03-31 day"),
    ("gültig 01.01. – 31.03.2024", "2024-01-01 day 2024-03-31 day"),
    ("Q1–Q3 2023", "2023-01-01 month 2023-09-30 month"),
    ("from early 2019 to late 2021", "2019-01-01 year 2021-12-31 year"),
]

UNREAD = [
    *("20241312", "20240230", "20240300", "2024031", "202403120", "12032024"),
    *("", " ", "last year", "two weeks ago", "currently", "yesterday", "heute", "l'année dernière", "hace dos años"),
    *("в прошлом году", "去年", "3年前", "two years after 2019", "2 years before 2019", "a year since 2019"),
    *("before 2019", "after 2019", "vor 2019", "2019年前", "about 2019", "circa 2019", "mid-2019", "not since 2019"),
    *("until early 2021", "since the end of 2019", "end of 2019", "Ende 2019", "by 2021", "截至2021年底"),
    *("2021年までに", "a finales de 2019", "up to but not including 2019"),
    *("03/04/2024", "3-4-2024", "5/2024", "03.13.2024", "13.13.2024", "13/13/2024", "2024-02-30", "29 February 2023"),
    *(
        "2024-13",
        "2024-00-10",
        "31 June 2024",
        "0 March 2024",
        "2024年13月",
        "Q5 2023",
    ),
    *(
        "2024 employees",
        "1500 euros",
        "999",
        "3000",
        "12024",
        "112 March 2024",
        "0999",
        "1990s",
        "'19",
        "2019 BC",
        "令和",
        "大正5年",
        "99",
    ),
    *("12 March", "March", "Q3", "may be 2019", "Tuesday", "3.5", "14:30", "in 2019 or 2020", "2019, 2020"),
    *("2019 and 2021", "2021–2019", "May 5, 2019 and June 6, 2020", "2019-", "2019 until"),
    *("version 3.4.2019.1", "2019, 2020 to 2021", "fiscal year 2019", "FY2019", "2019年度", "٢٠١٩"),
    *("H3 2019", "3. Halbjahr 2019", "KW 3 2019", "5. listopada 2019.", "12 do 2019", "przed 2019 r.", "około 2019 r."),
    *("da sie 2019", "half of 2019", "pod koniec 2019 r."),
    *(
        "12 Q3 2024",
        "5 to Q3 2019",
        "2019 to May",
        "08年5月至2019年6月",
        "May Day 2019",
        "2019 - 2020 - 2021",
        "1 2 May 2019",
    ),
    *(
        "01.10.-31.03.2024",
        "01.13.-31.12.2024",
        "01.01.",
        "31.12.23",
        "4/2023",
        "invalid from 2019",
        "until further notice",
    ),
    *("not valid from 2019", "bis auf Weiteres", "gültig"),
    *("between 2019", "2019 2020", "from 2022 to 2021", "from time to time in 2024", "2019 " * 60),
]


def cases(table: dict[str, list[str]], precision: str) -> Iterator[tuple[str, str, str]]:
    return ((words, day, precision) for day, listed in table.items() for words in listed)


@pytest.mark.parametrize(
    ("words", "day", "precision"),
    [*cases(SINGLE, "day"), *cases(MONTHS, "month"), *((words, "2019-01-01", "year") for words in YEARS)],
)
def test_a_date_opens_a_time(words: str, day: str, precision: str) -> None:
    assert read_when(words) == When(date.fromisoformat(day), precision, None, None)


@pytest.mark.parametrize(("words", "day", "precision"), UNTIL)
def test_an_end_is_the_last_day(words: str, day: str, precision: str) -> None:
    assert read_when(words) == When(None, None, date.fromisoformat(day), precision)
    assert read_date(words) is None


@pytest.mark.parametrize(("words", "expected"), RANGES)
def test_a_range_has_both_ends(words: str, expected: str) -> None:
    found = read_when(words)
    assert found is not None
    assert " ".join(map(str, found)) == expected
    assert read_date(words) is None


@pytest.mark.parametrize(
    ("words", "first", "last"),
    [
        ("from March 2022 to the end of the lease", "2022-03-01", None),
        ("from 2022-01-01 to 31.12.23", "2022-01-01", None),
        ("from 1 March 2022 to 03/04/2023", "2022-03-01", None),
        ("from 1 May 2022 to about 31 May 2023", "2022-05-01", None),
        ("from 2019 to 2021 or 2022", "2019-01-01", None),
        ("from 2021 until", "2021-01-01", None),
        ("von März 2022 bis auf Widerruf", "2022-03-01", None),
        ("depuis mars 2022 jusqu'à la fin du bail", "2022-03-01", None),
        ("desde marzo de 2022 hasta el fin del contrato", "2022-03-01", None),
        ("from spring to 31 May 2024", None, "2024-05-31"),
        ("from May to 2019", None, "2019-12-31"),
        ("from 2024-02-30 to 2024-05-01", None, "2024-05-01"),
    ],
)
def test_an_end_that_is_no_date_takes_not_the_other(words: str, first: str | None, last: str | None) -> None:
    found = read_when(words)
    assert found is not None
    assert [found.valid_from, found.valid_to] == [one and date.fromisoformat(one) for one in (first, last)]
    assert "unread" in (found.from_precision, found.to_precision)
    assert read_date(words) is None


@pytest.mark.parametrize("words", UNREAD)
def test_what_is_relative_or_unclear_or_no_date_is_unread(words: str) -> None:
    assert read_when(words) is None
    assert read_date(words) is None


@pytest.mark.parametrize(
    ("text", "day", "precision"),
    [
        *cases({"2024-03-12": ["2024-03-12", "12.03.2024", "Tuesday, 12 March 2024", "12 марта 2024 г."]}, "day"),
        *cases({"2023-07-01": ["Q3 2023", "07/2023", "2023年7月"]}, "month"),
        *cases({"2019-01-01": ["2019", "(2019)", "2019年"]}, "year"),
    ],
)
def test_a_single_date(text: str, day: str, precision: str) -> None:
    assert read_date(text) == (date.fromisoformat(day), precision)


@pytest.mark.parametrize("text", ["since 2019", "2019–present", "from 2019", "2019年から"])
def test_a_date_that_opens_a_time_is_no_single_date(text: str) -> None:
    assert read_date(text) is None


@pytest.mark.parametrize("language", ["en", "de", "fr", "es", "it", "pt", "nl", "pl", "ru", "zh", "ja"])
def test_months_as_the_unicode_consortium_names_them(language: str) -> None:
    months = Locale(language).months
    for names in (months[context][width] for context in ("format", "stand-alone") for width in ("wide", "abbreviated")):
        for month, name in names.items():
            if name == "sie":  # August in Polish, and `they` in German
                continue
            text = f"2024年{name}" if language in ("zh", "ja") else f"{name} 2024"
            assert read_date(text) == (date(2024, month, 1), "month"), text


DAYS = st.dates(date(1000, 1, 1), date(2999, 12, 31))


@given(DAYS)
def test_every_iso_date_is_read(day: date) -> None:
    assert read_when(day.isoformat()) == When(day, "day", None, None)
    assert read_date(f"{day:%d.%m.%Y}") == (day, "day")
    assert read_when(f"until {day:%Y-%m}") == When(
        None, None, day.replace(day=monthrange(day.year, day.month)[1]), "month"
    )


@given(DAYS, st.integers(0, 9999))
def test_every_range_of_iso_dates_is_read(day: date, length: int) -> None:
    last = min(day + timedelta(length), date(2999, 12, 31))
    assert read_when(f"{day} to {last}") == When(day, "day", last, "day")


PIECES = [
    "2019",
    "12",
    "may",
    "q3",
    "to",
    "until",
    "-",
    "年",
    "月",
    "第三季度",
    "十",
    "<m5>",
    "<q>",
    "of",
    ".",
    " ",
    "３",
]


@given(
    st.one_of(
        st.text(), st.lists(st.sampled_from(PIECES)).map("".join), st.lists(st.sampled_from(PIECES)).map(" ".join)
    )
)
def test_any_text_is_taken(text: str) -> None:
    found = read_when(text)
    assert found is None or (found.valid_from is None) == (found.from_precision in (None, "unread"))
    assert found is None or found.valid_from is None or found.valid_to is None or found.valid_from <= found.valid_to
    read_date(text)


@pytest.mark.parametrize(
    "piece", ["1 ", "9", "1.", "mar ", "一", "十", " ", "1-", "第", "<", "1er de ", "q1 of ", "1 may 1"]
)
def test_time_grows_with_the_text_and_has_a_bound(piece: str) -> None:
    def seconds(size: int) -> float:
        text = (piece * size)[:size]
        taken = []
        for _ in range(5):
            begun = time.thread_time()
            for _ in range(10):
                read_date(text)
            taken.append(time.thread_time() - begun)
        return min(taken)

    assert seconds(200) < 4 * 4 * max(seconds(50), 1e-5)  # four times the size; a square would be beyond with its noise
    assert seconds(1_000_000) < max(seconds(200), 1e-3)


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set another time zone and locale."""
    before = locale.setlocale(locale.LC_ALL)
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    time.tzset()
    locale.setlocale(locale.LC_ALL, next((name for name in ("de_DE.UTF-8", "C.UTF-8") if has_locale(name)), "C"))
    read_when.cache_clear()
    yield
    locale.setlocale(locale.LC_ALL, before)
    monkeypatch.undo()
    time.tzset()


def has_locale(name: str) -> bool:
    try:
        locale.setlocale(locale.LC_ALL, name)
    except locale.Error:
        return False
    return True


@pytest.mark.usefixtures("elsewhere")
def test_neither_time_zone_nor_locale_matters() -> None:
    assert read_when("2024-03-12T23:30:00-11:00") == When(date(2024, 3, 12), "day", None, None)
    assert read_when("March 2024") == When(date(2024, 3, 1), "month", None, None)


def test_no_clock_is_asked() -> None:
    asked = {node.attr for node in ast.walk(ast.parse(inspect.getsource(dates))) if isinstance(node, ast.Attribute)}
    assert not asked & {"today", "now", "utcnow", "time", "localtime", "strptime", "strftime"}
