"""Numbers with units in ten languages, the rules for dots and commas, and yes or no."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.stages.facts.lexicon import sections
from lightrag_dagster.stages.facts.values import read_number, read_yes_no

NUMBERS = [
    ("5", 5, ""),
    ("0", 0, ""),
    ("007", 7, ""),
    ("-5", -5, ""),
    *((f"900 {one}", 900, "PLN") for one in ("zł", "PLN", "złotych")),
    *((f"900 {one}", 900, "RUB") for one in ("руб.", "рублей", "₽", "roubles")),
    *((f"900 {one}", 900, "USD") for one in ("dollars", "Dollar", "dólares", "долларов", "美元")),
    *((f"900 {one}", 900, "GBP") for one in ("pounds sterling", "libras esterlinas", "英镑")),
    *((f"900 {one}", 900, one) for one in ("pounds", "canadian dollars", "francs", "crowns")),  # which are of several
    *((f"3 {one}", 3, "days") for one in ("day", "Tage", "jours", "días", "giorni", "dagen", "dni", "дня")),
    ("50 pct", 50, "%"),
    ("−5 °C", -5, "°C"),
    ("+3 %", 3, "%"),
    ("12 %", 12, "%"),
    ("12%", 12, "%"),
    ("12 %.", 12, "%"),
    ("12 percent", 12, "%"),
    ("12,5 Prozent", 12.5, "%"),
    ("12 pour cent", 12, "%"),
    ("12 por ciento", 12, "%"),
    ("12 процентов", 12, "%"),
    ("12 % of sales", 12, "% of sales"),
    ("25 m²", 25, "m²"),
    ("25 m2", 25, "m2"),
    ("40 kWh", 40, "kWh"),
    ("500 kg CO2", 500, "kg CO2"),
    ("40-inch", 40, "inch"),
    ("3 Std.", 3, "Std"),
    # Words have no case, symbols do.
    *((one, 30, "days") for one in ("30 days", "30 Days", "30 DAYS", "30-Days")),
    ("5 MW", 5, "MW"),
    ("300 mW", 300, "mW"),
    *((f"5 {one}", 5, one) for one in ("Mbps", "MBps", "MBPS", "MVAr", "MVAR", "Mmol", "mmHg", "MWhr")),
    ("9 kWh/Month", 9, "kWh/Month"),
    ("2024 employees", 2024, "employees"),
    ("1.2e9", 1.2e9, ""),
    ("5 m", 5, "m"),
    ("300 K", 300, "K"),
    ("5 bi", 5, "bi"),
    ("1,234.5 km", 1234.5, "km"),
    ("1,234,567", 1234567, ""),
    ("1,234,567.89", 1234567.89, ""),
    ("12,34,567.89 km", 1234567.89, "km"),
    ("1.234 €", 1234, "EUR"),
    ("1,234 CHF", 1234, "CHF"),
    ("$1,234", 1234, "USD"),
    ("1,234 dollars", 1234, "USD"),
    ("1.234 Einwohner", 1234, "einwohner"),
    ("1,234 employees", 1234, "employees"),
    ("1.234e5", 123400, ""),
    ("1,234 millions d'euros", 1.234e6, "EUR"),
    ("3 millions of users", 3e6, "users"),
    ("EUR 1.234", 1234, "EUR"),
    ("1.250 EUR pro Monat", 1250, "EUR pro Monat"),
    ("1.250 €/Monat", 1250, "EUR/Monat"),
    ("EUR 1.250 pro Monat", 1250, "EUR pro Monat"),
    ("12.500 Euro (netto)", 12500, "EUR (netto)"),
    ("4.800 EUR a year", 4800, "EUR a year"),
    ("5 US-$ per share", 5, "USD per share"),
    ("1.234.567", 1234567, ""),
    ("1.234.567,89", 1234567.89, ""),
    ("1.234,50 EUR", 1234.5, "EUR"),
    ("0.123", 0.123, ""),
    ("0,123", 0.123, ""),
    ("0,5", 0.5, ""),
    ("1234,567", 1234.567, ""),
    ("1 234,567", 1234.567, ""),
    ("1 234 567,89 Kč", 1234567.89, "Kč"),
    ("12\u202f345\xa0km", 12345, "km"),
    ("1'234.50 CHF", 1234.5, "CHF"),
    ("CHF 1’234.50", 1234.5, "CHF"),
    ("5,- €", 5, "EUR"),
    ("5.– CHF", 5, "CHF"),
    ("€ 3.2 million", 3.2e6, "EUR"),
    ("€ 1.234 million", 1.234e6, "EUR"),
    ("€5 m2", 5, "EUR m2"),
    ("5 % p.a.", 5, "% p.a."),
    ("€3.2m", 3.2e6, "EUR"),
    ("3,2 Mio. €", 3.2e6, "EUR"),
    ("3,2 M€", 3.2e6, "EUR"),
    ("$1.2bn", 1.2e9, "USD"),
    ("$1.2 billion", 1.2e9, "USD"),
    ("1.2 trillion", 1.2e12, ""),
    ("R$ 5 mil", 5000, "BRL"),
    ("5 mil euros", 5000, "EUR"),
    ("$5 mill.", 5e6, "USD"),
    ("5 mill. kr", 5e6, "kr"),
    ("RM500", 500, "RM"),
    ("$-40", -40, "USD"),
    ("-$40", -40, "USD"),
    ("USD 40", 40, "USD"),
    ("US$ 40", 40, "USD"),
    ("$40 USD", 40, "USD"),
    ("A$ 40", 40, "A$"),
    ("kr 500", 500, "kr"),
    *((one, 500, "Fr") for one in ("Fr. 500", "500 Fr.", "Fr 500")),
    ("Fr. 500 pro Monat", 500, "Fr pro Monat"),
    ("500 Rs./m²", 500, "Rs/m²"),
    *((one, 1500, "USD") for one in ("1,500 US dollars", "1,500 U.S. dollars", "1,500 US-dollars")),
    ("5 million US dollars", 5e6, "USD"),
    ("500 kr", 500, "kr"),
    ("£99.99", 99.99, "GBP"),
    ("R$ 1.234,56", 1234.56, "BRL"),
    ("R$ 5 bi", 5e9, "BRL"),
    ("$40k", 40e3, "USD"),
    ("40k EUR", 40e3, "EUR"),
    ("40k users", 40e3, "users"),
    ("$40 per share", 40, "USD per share"),
    ("€ 12 / m²", 12, "EUR / m²"),
    ("3 thousand tons", 3e3, "tons"),
    ("5 lakh", 5e5, ""),
    ("$1,234 million", 1234e6, "USD"),
    ("1.234 million employees", 1.234e6, "employees"),
    ("1,234 Mio. €", 1.234e6, "EUR"),
    ("1.234 Mio. €", 1234e6, "EUR"),
    ("50 Tsd. Euro", 50e3, "EUR"),
    ("1,5 Milliarden Euro", 1.5e9, "EUR"),
    ("3 Billionen", 3e12, ""),
    ("$3 Billion", 3e9, "USD"),
    ("3 milliards d'euros", 3e9, "EUR"),
    ("2,5 millones de euros", 2.5e6, "EUR"),
    ("12 mil millones de pesos", 12e9, "pesos"),
    ("2,5 milioni di euro", 2.5e6, "EUR"),
    ("3 bilhões de reais", 3e9, "BRL"),
    ("1,5 miljard euro", 1.5e9, "EUR"),
    ("2 тыс. рублей", 2e3, "RUB"),
    ("3,5 млн евро", 3.5e6, "EUR"),
    ("１２，０００円", 12000, "JPY"),
    ("3万円", 3e4, "JPY"),
    ("10万", 1e5, ""),
    ("1.5亿元", 1.5e8, "元"),
    ("1.2万亿元", 1.2e12, "元"),
    ("百万", None, ""),
    ("3百万", 3e6, ""),
    ("2兆円", 2e12, "JPY"),
    ("about 40 km", 40, "km"),
    ("~40 km", 40, "km"),
    ("rund 3,2 Mio. Euro", 3.2e6, "EUR"),
    ("ca. 40 %", 40, "%"),
    ("約3万円", 3e4, "JPY"),
    ("US-$ 3.2 million", 3.2e6, "USD"),
    ("-US-$5bn", -5e9, "USD"),
    ("5k US-$", 5e3, "USD"),
    ("US $5", 5, "USD"),
    ("A-$ 300", 300, "A$"),
    ("5-$", 5, "USD"),
    ("€ -5", -5, "EUR"),
    ("- $5", -5, "USD"),
    ("about -$5", -5, "USD"),
    ("~$5", 5, "USD"),
    # thousands, hundreds, and numbers of several scales
    ("12,5 T€", 12_500, "EUR"),
    ("TEUR 3", 3_000, "EUR"),
    ("NT$ 5", 5, "NT$"),
    ("$5MM", 5e6, "USD"),
    *((one, 12.3e6, "EUR") for one in ("12.3 €m", "EUR million 12.3", "12.3 EUR million", "EURm 12.3", "12.3 EURm")),
    *((one, 12.3e6, "EUR") for one in ("MEUR 12.3", "12,3 MEUR", "Mio. € 12,3", "EUR in millions 12.3")),
    *((one, 12.3e3, "EUR") for one in ("kEUR 12.3", "12,3 K€", "Tsd. € 12,3", "12,3 T-EUR")),
    ("12,3 M d'euros", 12.3e6, "EUR"),
    ("MSEK -5", -5e6, "SEK"),
    ("5 Mkr", 5e6, "kr"),
    ("5 EUR/m", 5, "EUR/m"),
    ("2 USD/million tokens", 2, "USD/million tokens"),
    ("5 Mars", 5, "mars"),
    ("5 mm", 5, "mm"),
    ("5 hundred EUR", 500, "EUR"),
    ("3億5000万円", 350_000_000, "JPY"),
    ("1兆2,345億円", 1_234_500_000_000, "JPY"),
    ("3,2 mln zł", 3.2e6, "PLN"),
    ("3,2 miliona zł", 3.2e6, "PLN"),
    ("T€ 5 EUR", 5_000, "EUR"),
    ("SEK m 12.3", 12.3e6, "SEK"),
    ("12.3 EUR m", 12.3e6, "EUR"),
]

UNREAD = [
    *("$5 mil", "US$ 5 mil", "£5.2 mil."),
    *("5 m d'", "(5) MEUR", "10⁶ cells", "10⁻³", "10³ items", "0x1F"),
    *("", "two", "zwei", "€", "many", "½", "2½ cups", "5⅓", "5 to 7", "10-20", "10–20 %", "1/2", "1 2", "12:30"),
    *(
        "2024-03-12",
        "12 March 2024",
        "1.2×10^6",
        "5'10\"",
        "$5 million to $7 million",
        "1.2.3",
        "1,23,4",
    ),
    *(
        "1,23,4",
        "1.234.56",
        "1,2345,678.9",
        "3rd",
        "5th floor",
        "No. 5",
        "Q3",
        "CO2",
        "A4",
        "v2",
        "March 2019",
        "a 40",
        "SHARE$ 40",
    ),
    *(
        "over 40 km",
        "> 40",
        "(40)",
        "40 €, 50 €",
        "5m users",
        "5 m high",
        "40k",
        "1,234.50-",
        *("1 Billion Euro", "1 Trillion"),
        *("1.234,50- EUR", "1.234,50 EUR-", "5,00- €", "12,5- %", "5 -", "5 - EUR"),
        *("(4.5) %", "4.5) %", "(1,234) EUR", "1,234) EUR", "(1,234.50)"),
    ),
    *(
        "(EUR 5)",
        "($5 million)",
        "$5 million)",
        "$(5)",
        "5 km)",
        "5 (km",
        "<$5 million",
        ">€40",
        "±€5",
        "≤ $5",
        "up to $5",
    ),
    *("T€ 5 million", "million $5", "1.2e3m"),
    *("to $5", "A $5", "--5", "-$-5", "5+", "40+ employees", "5%+", "5?", "5*"),
    *("5 people who were fired in the year of the great flood", "9" * 101, "5" + "兆" * 60),
]


@pytest.mark.parametrize(("words", "value", "unit"), NUMBERS)
def test_a_number_has_its_unit(words: str, value: float | None, unit: str) -> None:
    assert read_number(words) == (None if value is None else (value, unit))


IN_DOUBT = [
    *(
        "1.234",
        "1,234",
        "48,000",
        "50.000",
        "-1.234",
        "1.234 km",
        "2.500 m²",
        "2,500 m²",
        "12.500 T€",
        "1.234 M EUR",
        "MEUR 12.500",
        "12.500 CHF",
    ),
    *("$1.234", "1.250 Seemeilen", "1,250 person hours", "1.659 EUR/l", "1,659 € pro Liter", "EUR 1.095 per kWh"),
]


@pytest.mark.parametrize("words", IN_DOUBT)
def test_one_sign_before_three_digits_is_read_only_if_it_is_known_which_is_decimal(words: str) -> None:
    by_dot, by_comma = (read_number(words, decimal) or (0.0, "") for decimal in ".,")
    assert read_number(words) is None
    assert sorted((abs(by_dot[0]), abs(by_comma[0])))[1] == pytest.approx(1000 * min(abs(by_dot[0]), abs(by_comma[0])))
    assert by_dot[0]


@pytest.mark.parametrize(
    ("words", "decimal", "value"),
    [
        *((f"1{one}", sign, 1250) for one in (".250,-", ",250.--", "'250.–", ".250.-") for sign in (None, *(".", ","))),
        ("1.250,-5", ",", None),
        ("1.234 €", ".", 1.234), ("1.234,50 €", ",", 1234.5), ("1,234,567", ".", 1234567), ("1 234,5", ",", 1234.5),
        ("1.234 Mio. €", ".", 1.234e6), ("1'234.5", ".", 1234.5), ("50", ",", 50), ("1,234 people", ",", 1.234),
        *(("1.5 km", ",", None), ("1,5 km", ".", None), ("1.234,5", ".", None), ("1,234,567", ",", None)),
        *(("1,2,3", ",", None), ("1.234.5", ",", None), ("12.34,5", ",", None)),
    ],
)  # fmt: skip
def test_a_number_of_another_form_than_its_decimal_sign_says_is_unread(
    words: str, decimal: str | None, value: float | None
) -> None:
    found = read_number(words, decimal)
    assert (found and found[0]) == value


@pytest.mark.parametrize("words", UNREAD)
def test_no_number_or_several_or_one_that_may_be_another_is_unread(words: str) -> None:
    assert read_number(words) is None


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        *((word, True) for word in ["Yes", "yes.", "true", "Ja", "wahr", "oui", "Sí", "sì", "sim", "Да", "是", "はい"]),
        *((word, False) for word in [" no! ", "FALSE", "nein", "non", "faux", "não", "nee", "нет", "否", "いいえ"]),
        *((word, None) for word in ["", "maybe", "yes and no", "1", "0", "not", "unknown"]),
    ],
)
def test_yes_or_no(words: str, answer: bool | None) -> None:
    assert read_yes_no(words) is answer


UNITS = st.sampled_from([("", ""), (" km", "km"), (" %", "%"), (" EUR", "EUR"), (" kr", "kr"), (" °C", "°C")])
CENTS = st.integers(-(10**14), 10**14)


@pytest.mark.parametrize(("grouping", "decimal"), [(",", "."), (".", ","), (" ", ","), ("\u202f", ","), ("’", ".")])
@given(cents=CENTS, unit=UNITS)
def test_numbers_with_cents_are_read_back(grouping: str, decimal: str, cents: int, unit: tuple[str, str]) -> None:
    whole, rest = divmod(abs(cents), 100)
    sign = "-" if cents < 0 else ""
    written = f"{sign}{f'{whole:,}'.replace(',', grouping)}{decimal}{rest:02d}{unit[0]}"
    assert read_number(written) == (float(f"{sign}{whole}.{rest:02d}"), unit[1])


@pytest.mark.parametrize("grouping", [",", ".", " ", "\xa0", "'"])
@given(whole=st.integers(10**6, 10**15))
def test_whole_numbers_with_groups_are_read_back(grouping: str, whole: int) -> None:
    assert read_number(f"{whole:,}".replace(",", grouping)) == (float(whole), "")


PIECES = [
    "1",
    "234",
    ",",
    ".",
    " ",
    "'",
    "€",
    "m",
    "k",
    "Mio.",
    "million",
    "万",
    "-",
    "e9",
    "%",
    "½",
    "²",
    "d'",
    "５",
    "kr",
]


@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map("".join)))
def test_any_text_is_taken(text: str) -> None:
    found = read_number(text)
    assert found is None or abs(found[0]) < float("inf")
    read_yes_no(text)


@pytest.mark.parametrize(
    "piece", ["1 ", "9", "1.", "1,", "9 999", "万", "5 mil ", " ", "-", "1'2", "5 m ", "e9", "1,23,"]
)
def test_time_grows_with_the_text_and_has_a_bound(piece: str) -> None:
    def seconds(size: int) -> float:
        text = ("5" + piece * size)[:size]
        taken = []
        for _ in range(5):
            begun = time.thread_time()
            for _ in range(20):
                read_number.__wrapped__(text)
            taken.append(time.thread_time() - begun)
        return min(taken)

    assert seconds(100) < 4 * 4 * max(seconds(25), 1e-5)  # four times the size; a square would be beyond with its noise
    assert seconds(1_000_000) < max(seconds(100), 1e-3)


@pytest.mark.parametrize("section", sorted(sections()))
def test_a_word_has_one_meaning_in_a_section(section: str) -> None:
    found: dict[str, str] = {}
    for meaning, words in sections()[section]:
        for word in words.split():
            assert found.setdefault(word, meaning) == meaning
            assert word == word.lower() or section == "currencies grouped by dots"
