"""A number of a passage is whole: with what belongs to it, and not a part of a range, a fraction or a lesser one."""

import time

import pytest

from lightrag_dagster.stages.facts.beside import whole_amount
from lightrag_dagster.stages.facts.standing import PassageText


def found(passage: str, value: str) -> str | None:
    span = PassageText(passage).find(value, whole_amount)
    return span and span.words


@pytest.mark.parametrize(
    ("passage", "value", "whole"),
    [
        ("Revenue was 3.2 million EUR.", "3.2", "3.2 million EUR"),
        ("The rent of Quay 4 rose to 51,000 EUR.", "51,000 EUR", "51,000 EUR"),
        ("Revenue of Unit 7 fell to 12 EUR.", "12", "12 EUR"),
        ("Revenue was 3.2 million EUR.", "3.2 million", "3.2 million EUR"),
        ("Revenue was 3.2\nmillion EUR.", "3.2", "3.2\nmillion EUR"),
        ("Revenue was € 3.2 million.", "€ 3.2", "€ 3.2 million"),
        ("Revenue was € 3.2 million.", "3.2", "€ 3.2 million"),
        ("Revenue was $3.2m.", "$3.2", "$3.2m"),
        ("Revenue was $3.2bn.", "$3.2", "$3.2bn"),
        ("Umsatz: 3,2 Mio. €", "3,2", "3,2 Mio. €"),
        ("3 milliards d'euros", "3", "3 milliards d'euros"),
        ("The rent is 48,000 USD a year.", "48,000", "48,000 USD"),
        ("The rent is USD 48,000 a year.", "48,000", "USD 48,000"),
        ("売上は3億円です", "3", "3億円"),
        ("It grew by 5 %.", "5", "5 %"),
        ("It grew by 5 percent.", "5", "5 percent"),
        ("It takes 5 days, 5 dollar-denominated bonds", "5 days", "5 days"),
        ("3 day jobs", "3", "3"),
        ("It costs 500 dollars.", "500", "500"),
        ("Canadian dollar 500", "500", "500"),
        ("On day 5 it rained.", "5", "5"),
        ("It weighs 5kg.", "5", "5kg"),
        ("40 € and 50 $", "50", "50 $"),
        ("5 to 7 kg, then 5 kg", "5 kg", "5 kg"),
        # what is whole stays as it is
        ("The rent (48,000 EUR) is due.", "48,000 EUR", "48,000 EUR"),
        ("It sold 40 units.", "40", "40"),
        ("The rent rose from 48,000 EUR to 51,000 EUR.", "51,000 EUR", "51,000 EUR"),
        ("The rent rose from 48,000 EUR to 51,000 EUR.", "48,000 EUR", "48,000 EUR"),
        ("Lens A3 – 5 kg", "5 kg", "5 kg"),
        ("- 5 kg of salt", "5 kg", "5 kg"),
        ("EUR 12 / m²", "EUR 12", "EUR 12"),
        ("Quay 4 costs 300 EUR", "300 EUR", "300 EUR"),
        ("It won 40 points.", "40", "40"),
        ("The rent is *48,000 EUR*, and **5 %** more.", "48,000 EUR", "48,000 EUR"),
        ("The rent is *48,000 EUR*, and **5 %** more.", "5 %", "5 %"),
        ("Salt:\n* 5 kg", "5 kg", "5 kg"),
        ("Salt:\n> 5 kg", "5 kg", "5 kg"),
        ("Salt:<br>5 kg", "5 kg", "5 kg"),
        ("| Quay 4 | 300 | 400 |", "300", "300"),
        ("Rent: 5\n€ 7 later", "5", "5"),
        ('The screen has 15"', "15", "15"),
        ("It won +5 300 000 EUR more.", "5 300 000 EUR", "5 300 000 EUR"),
        ("ab 01.04.2021 500 EUR", "500 EUR", "500 EUR"),
        ("It cost $5 mill. last year.", "5", "$5 mill"),
        ("omsetning 5 mill. kr", "5", "5 mill. kr"),
        ("RM500 a month", "500", "RM500"),
        # words behind a value, and a currency before it
        ("Die Miete: CHF 1'250.– pro Monat", "1'250.–", "CHF 1'250.–"),
        *((f"Sie kostet 12,{cents} EUR im Jahr", "12", f"12,{cents} EUR") for cents in ("-", "–", "--")),
        ("Sie kostet CHF 1.250.– im Jahr", "1.250", "CHF 1.250.–"),
        ("The rent is £1,250.00 pcm", "1,250.00 pcm", "£1,250.00 pcm"),
        # changes, prices and counts are no ranges
        ("Ab Mai kostet Śruba M8 950 Euro.", "950 Euro", "950 Euro"),
        ("Ab Mai kostet Lamp K2 125.000 Euro.", "125.000", "125.000 Euro"),
        ("The price fell 3 to 40 EUR.", "40 EUR", "40 EUR"),
        ("sales rose 12 to 340 million EUR", "340 million EUR", "340 million EUR"),
        ("Sales grew 8% to $12 million.", "8%", "8%"),
        ("Sales grew 8% to $12 million.", "$12 million", "$12 million"),
        ("Sales grew by $2 million to $12 million.", "$2 million", "$2 million"),
        ("It rose by 20 to 120 employees.", "120 employees", "120 employees"),
        ("Der Umsatz stieg um 5 bis 7 EUR.", "7 EUR", "7 EUR"),
        ("Sold 40 units to 3 customers", "40 units", "40 units"),
        ("It paid $500 to 3 customers", "3 customers", "3 customers"),
        ("Il en vend 3 à 40 €", "40 €", "40 €"),
        ("subió un 5 % a 40 euros", "40 euros", "40 euros"),
        # an end of time is no other end
        ("The price is $500 until 2024.", "$500", "$500"),
        ("The fee is $75 to 2025, and $80 since", "75", "$75"),
        ("Der Preis beträgt € 20 bis 31.12.2024.", "€ 20", "€ 20"),
        ("El precio es € 500 hasta 2024", "500", "€ 500"),
        ("R$ 900 até 31/12/2024", "R$ 900", "R$ 900"),
        ("Huur: € 20 tot 21 mei 2024", "€ 20", "€ 20"),
        ("Аренда: € 900 до 2024 года", "€ 900", "€ 900"),
        ("£5 until 03/04/2031", "£5", "£5"),
        ("EUR 48.000 bis 2024", "48.000", "EUR 48.000"),
        ("It had 120 until 2020.", "120", "120"),
        ("It had 12 until 2020, 15 since.", "12", "12"),
        ("It had 120 until 31 May 2020 in Bonn.", "120", "120"),
        # the next item of a list is no other end
        ("- Bonn: 120\n- 3 in Oslo", "120", "120"),
        ("850 €\n- 40 €", "850 €", "850 €"),
        ("* 120\n* 40", "40", "40"),
        ("CHF\n120 per day", "120", "120"),
        ("---\n120 employees", "120 employees", "120 employees"),
        # a label with a number is no other end
        ("2023 – €5 million", "€5 million", "€5 million"),
        ("Artikel 5 – 12.000 €", "12.000 €", "12.000 €"),
        # letters behind a number
        ("a EUR 40m loan", "40", "EUR 40m"),
        ("a 40m EUR loan", "40", "40m EUR"),
        ("It has 12k sites", "12", "12k"),
        ("Serie 3er", "3", "3"),
        ("Building 12b has 40 rooms", "12", "12"),
        ("The mast is 12m high", "12", "12"),
        ("150 PS/110 kW", "150 PS", "150 PS"),
        ("Umsatz: 3,2 Mio. €", "3,2 Mio", "3,2 Mio. €"),
        ("It earned 3 million. € 5 is the price.", "3 million", "3 million"),
        # letters and words before and behind a currency
        ("un chiffre d'affaires de 3,2 M€", "3,2", "3,2 M€"),
        ("un budget de 48 k€", "48", "48 k€"),
        ("Umsatz 1.250 T€", "1.250", "1.250 T€"),
        ("Umsatz TEUR 1.250", "1.250", "TEUR 1.250"),
        ("Umsatz 1.250 TEUR", "1.250", "1.250 TEUR"),
        ("a loan of $5MM", "5", "$5MM"),
        ("a loan of £5 m in 2022", "£5", "£5 m"),
        ("a rent of EUR 40/m² a year", "40", "EUR 40"),
        *((f"Revenue was {one} in 2022", "12.3", one) for one in ("12.3 €m", "EUR million 12.3", "12.3 EUR million")),
        *(
            (f"Revenue was {one} in 2022", "12.3", one)
            for one in ("EURm 12.3", "12.3 MEUR", "Mio. € 12.3", "kEUR 12.3")
        ),
        ("Revenue was 12.3 EUR million", "12.3 EUR", "12.3 EUR million"),
        ("Revenue was 12.3 €m", "12.3 €", "12.3 €m"),
        ("It costs 2 USD/million tokens", "2", "2 USD"),
        ("It is per million $0.10 in", "0.10", "$0.10"),
        ("It is per million $0.10 in", "$0.10", "$0.10"),
        ("They sold 5 million €12 shares", "€12", "€12"),
        ("It has 2m users", "2", "2m users"),
        ("1.659 EUR/l", "1.659", "1.659 EUR/l"),
        ("EUR 1.659 per litre", "EUR 1.659", "EUR 1.659 per litre"),
        ("It costs 5 EUR a l'ora", "5", "5 EUR"),
        ("Revenue was $5 million¹ in 2022", "5", "$5 million"),
        ("The plot has 5km² of land", "5", "5"),
        ("売上は3億2000万円です", "3億2000万", "3億2000万円"),
        ("The rent rose in 2022 by 1.5 % from 5 to 7 EUR", "7 EUR", "7 EUR"),
        ("Il loyer est passé de 5 à 7 EUR", "7 EUR", "7 EUR"),
        ("Los ingresos pasaron de 5 a 7 EUR", "7 EUR", "7 EUR"),
        ("Выручка выросла с 5 до 7 %", "7 %", "7 %"),
        ("The price fell 3 EUR to 40 EUR", "40 EUR", "40 EUR"),
        ("Sales rose $2 million to $12 million", "$12 million", "$12 million"),
        ("由5人增至7人", "7人", "7人"),
        ("Revenue rose from 500,000 to 1.2 million EUR", "500,000", "500,000"),
        ("It rose from 120 to 150 people", "120", "120"),
        ("It rose from 5 EUR to 1.2 million EUR", "5 EUR", "5 EUR"),
        ("He was its president from 1934 to 1935.", "1934", "1934"),
        ("De 2005 a 2014 hubo dos equipos", "2014", "2014"),
        # cells before a negative one, and words that begin as a scale does
        ("| delete one | 0.41 | 1.02 | -0.01 | -0.02 |", "1.02", "1.02"),
        ("levels of 5, -3, 4", "5", "5"),
        ("a sum of 2\nMill Reach", "2", "2"),
        ("At most 50,000 requests", "50,000", "50,000"),
        # a code or sign of a currency without a space, or with a letter of its country
        ("It cost EUR5 million in 2022", "5", "EUR5 million"),
        ("It cost C$500 in 2022", "500", "C$500"),
        ("Revenue was SEK m 12.3 in 2022", "12.3", "SEK m 12.3"),
        ("It cost $40 USD in 2022", "$40", "$40"),
        # a number in a name is none, and the beginning of no range
        ("The plot has 160 km2, and 2 floors", "2", "2"),
        ("The rent of Unit A3 to 40 EUR", "40 EUR", "40 EUR"),
        ("منهم 5 رجال و9 نساء", "9", "9"),
        ("In 2010 365 people lived there", "2010", "2010"),
        ("From 12 reported in 1960, to 27 in 1968", "1960", "1960"),
        ("They live in C-4 or the mid 20s (−7 °C)", "20", "20"),
        ("voyage-2 and 120K for others", "2", "2"),
        ("It costs $3.00 / $15.00", "15.00", "$15.00"),
        # brackets in prose
        ("It cost 12 EUR (13 USD)", "13 USD", "13 USD"),
        ("The number of employees (120) fell.", "120", "120"),
        ("The population (12,500) fell.", "12,500", "12,500"),
    ],
)
def test_an_amount_has_what_belongs_to_it(passage: str, value: str, whole: str) -> None:
    assert found(passage, value) == whole


@pytest.mark.parametrize(
    ("passage", "value"),
    [
        *(("It weighs 5 to 7 kg.", one) for one in ("5", "7 kg")),
        *(("Es wiegt 5 bis 7 kg.", one) for one in ("5", "7 kg")),
        *(("It weighs 5 kg to 7 kg.", one) for one in ("5 kg", "7 kg")),
        *(("It weighs 5 tonnes to 7 tonnes.", one) for one in ("5 tonnes", "7 tonnes")),
        *(("Es kostet 5 Mio. bis 7 Mio. EUR.", one) for one in ("5 Mio.", "7 Mio. EUR")),
        *(("It costs 10-12 EUR.", one) for one in ("10", "12 EUR")),
        ("It has 1e5 cells.", "1"),
        *(("It costs 10 EUR – 12 EUR.", one) for one in ("10 EUR", "12 EUR")),
        *(("It costs $10 - $12.", one) for one in ("$10", "$12")),
        *(("It costs €10–€12.", one) for one in ("€10", "€12")),
        *(("between 5 and 7 kg", one) for one in ("5", "7 kg")),
        *(("minus 5 %", one) for one in ("5 %", "5")),
        *(("a margin of −€5", one) for one in ("€5", "5")),
        *(("− 5 %", one) for one in ("5 %", "5")),
        *(("1/2 kg", one) for one in ("2 kg", "1")),
        *(("12.5 % points", one) for one in ("12.5 %", "12.5")),
        *(("12.5 percentage points", one) for one in ("12.5",)),
        *(("um 5 %-Punkte", one) for one in ("5 %", "5")),
        *(("5 Prozentpunkte", one) for one in ("5",)),
        *(("1.2×10^6", one) for one in ("1.2", "10")),
        *(("1 234 567 €", one) for one in ("567 €", "1", "234 567 €")),
        *(("1.234,50- EUR", one) for one in ("1.234,50",)),
        *(("a loss of (4.5) %", one) for one in ("4.5",)),
        *(("a loss of EUR (4.5)", one) for one in ("4.5",)),
        *(("| loss | (120) |", one) for one in ("120",)),
        *(("| loss | (€ 5) |", one) for one in ("€ 5", "5")),
        *(("less: <5 kg", one) for one in ("5 kg",)),
        *(("It rose from 5 to 7 million EUR", one) for one in ("5",)),
        *(("It rose from $5.2 to $7 million", one) for one in ("$5.2", "5.2")),
        *(("Der Umsatz stieg von 5 auf 7 Mio. EUR", one) for one in ("5",)),
        *(("sales of 5 and 7 million EUR", one) for one in ("5",)),
        *(("sales of $5 to 7m in 2022", one) for one in ("$5", "5")),
        *(("loads from 5 to 7 kg", one) for one in ("5", "7 kg")),
        *(("Kosten von 5 bis 7 Mio. EUR", one) for one in ("5", "7 Mio. EUR", "7")),
        *(("des coûts de 5 à 7 millions", one) for one in ("5", "7 millions")),
        *(("des coûts de 5 € à 7 €", one) for one in ("5 €", "7 €")),
        *(("sales grew 5 to 7%", one) for one in ("5", "7%")),
        *(("a 40- to 50-tonne crane", one) for one in ("40", "50")),
        *(("$1.2 billion–$1.4 billion", one) for one in ("$1.2 billion", "$1.4 billion")),
        *(("员工5至7人", one) for one in ("5", "7人")),
        *(("员工5-7人", one) for one in ("5", "7人")),
        *(("従業員は5〜7名", one) for one in ("5", "7名")),
        *(("3億2000万円", one) for one in ("3", "3億", "2000万円", "2000")),
        *(("| 純利益 | △1,234 |", one) for one in ("1,234",)),
        *(("マイナス5%", one) for one in ("5%", "5")),
        *(("| Ergebnis | ./. 1.234,50 |", one) for one in ("1.234,50",)),
        *(("a loss of ($5.2) million", one) for one in ("$5.2", "5.2")),
        *(("a loss of (5.2 million) EUR", one) for one in ("5.2 million", "5.2")),
        *(("| loss | $ (1,234 ) |", one) for one in ("1,234",)),
        *(("| loss | (1,234 | ) |", one) for one in ("1,234",)),
        *(("2 puntos porcentuales", one) for one in ("2",)),
        *(("2 p.p. more", one) for one in ("2",)),
        *(("2 %pts", one) for one in ("2", "2 %")),
        *(("1,200+ employees", one) for one in ("1,200",)),
        *(("Umsatz in Mio. € 12,3", one) for one in ("€ 12,3",)),
        *(("Umsatz T€ 12,3", one) for one in ("€ 12,3",)),
        *(("2 1/2 kg", one) for one in ("2",)),
        *(("It opens at 9:30", one) for one in ("9", "30")),
        *(("The plot has 160 km2", one) for one in ("2",)),
        *(("P5 million in cash", one) for one in ("5", "5 million")),
        *(("the rate is EURIBOR + 4 %", one) for one in ("4 %", "4")),
        *(("He is 5 ft 3 in tall", one) for one in ("5 ft", "3 in")),
        *(("a 4 x 400 metres relay", one) for one in ("4", "400 metres")),
        *(("Es wiegt 5 – 7 kg.", one) for one in ("5", "7 kg")),
        *(("between €5 million and €7 million", one) for one in ("5", "€7 million")),
        *(("Revenue (£'000) | 12.3", one) for one in ("12.3",)),
        *(("He is 5' 3\" tall", one) for one in ("5", "5'", '3"')),
        *(("He is 5′ 3″ tall", one) for one in ("5′", "3")),
        *(("Tel. +49 30 123456 is the office", one) for one in ("49", "30", "123456")),
        *(("Call +1 202 555 0173 or (202) 555-0173", one) for one in ("1", "202", "555")),
        *(("phone (030) 123456", one) for one in ("030", "123456")),
        *(("phone 030 / 123456", one) for one in ("030", "123456")),
        *(("tél. 01 23 45 67 89", one) for one in ("01", "45", "89")),
        *(("temperatures rose 3 to 5 degrees", one) for one in ("3", "5 degrees")),
        *(("sales rose 12 to 340 million EUR", one) for one in ("12",)),
        # a sign or code before the first end is that of both
        *(("The rent is EUR 40,000 to 45,000 a year.", one) for one in ("EUR 40,000", "40,000", "45,000")),
        *(("It sells from EUR 40,000 to 45,000.", one) for one in ("EUR 40,000", "45,000")),
        *(("tickets are $5 – 7 each", one) for one in ("$5", "7")),
        *(("es kostet € 5 bis 7", one) for one in ("€ 5", "7")),
        *(("EUR 3 million to 5 million", one) for one in ("EUR 3 million", "5 million")),
        *(("The price is €3.2m to 3.5m.", one) for one in ("€3.2m", "3.5m")),
        # other words and signs between two ends
        *(("It weighs 10 … 12 kg", one) for one in ("10", "12 kg")),
        *(("It weighs 10...12 kg", one) for one in ("10", "12 kg")),
        *(("It weighs 10 kg up to 12 kg", one) for one in ("10 kg", "12 kg")),
        *(("between about 3 million and 5 million people", one) for one in ("3 million", "5 million people")),
        *(("a 3-to-5 year term", one) for one in ("3", "5")),
        *(("It weighs 5±1 kg", one) for one in ("5", "1 kg")),
        *(("It weighs 5 +/- 1 kg", one) for one in ("5", "1 kg")),
        *(("Er kostet 12,- bis 15,- EUR", value) for value in ("12", "15,- EUR")),
        # which are amounts as well as years, or both days
        *(("EUR 1940 bis 2024 im Monat", value) for value in ("1940",)),
        *(("€ 500 bis 2000 je nach Lage", value) for value in ("€ 500",)),
        *(
            (one, "500")
            for one in ("EUR 500 – 2024", "€ 500 bis 2010, je nach Größe", "$500 to 1999.", "¥ 500 至1999元")
        ),
        *(("£50 to 2019 sheep", value) for value in ("£50",)),
        *(("€ 1500 bis 1950 je nach Lage", value) for value in ("€ 1500",)),
        *(("$500 to 2024.50", value) for value in ("$500",)),
        *(("$500 to 2,024", value) for value in ("$500",)),
        *(("It weighs 120 to 1940 kg", value) for value in ("120", "1940 kg")),
        *(("It has 900 to 1940 sheep", value) for value in ("900", "1940")),
        *(("open from 12 to 31 May 2024", value) for value in ("12", "31")),
        *(("It cost EUR 500 to 1940 EUR", value) for value in ("EUR 500",)),
        *(("between $500 and 1940", value) for value in ("$500",)),
    ],
)
def test_a_part_of_another_amount_is_not_found(passage: str, value: str) -> None:
    assert found(passage, value) is None


def test_time_grows_with_the_places() -> None:
    begun = time.thread_time()
    assert found("5 to 7 kg, " * 2000, "7 kg") is None
    assert time.thread_time() - begun < 1.5


@pytest.mark.parametrize(
    "piece", ["1 234 ", "($ ", "- ", "EUR ", "Mio. €", "million ", "5 ft ", "  ", "\t", "km", "(", "¼ "]
)
def test_time_has_a_bound_beside_a_long_text(piece: str) -> None:
    begun = time.thread_time()
    text = f"{piece * (10_000 // len(piece))} 7 kg{piece * (10_000 // len(piece))}"
    assert found(text, "7 kg") == (None if piece[0].isalpha() else "7 kg")
    assert time.thread_time() - begun < 0.5


@pytest.mark.parametrize(
    ("piece", "whole"), [("5-", None), ("k5", None), ("5 to ", None), ("5/", None), ("5,-", "5"), ("5 EUR ", "5")]
)
def test_an_amount_may_stand_in_many_places(piece: str, whole: str | None) -> None:
    begun = time.thread_time()
    assert found((piece * 20_000)[:20_000], "5") == whole
    assert time.thread_time() - begun < 2.5
