"""Header rows: a first row of values is none, and names may be numbers."""

import pytest

from lightrag_dagster.readers.header_row import says_names


def said(text: str) -> bool | None:
    return says_names(row.split("|") for row in text.split("\n"))


@pytest.mark.parametrize(
    "text",
    [
        "North|12\nSouth|13",
        "North|12\nSouth|13.5\nWest|-3",
        "2024-03-12 10:00|3.2|5\n2024-03-12 10:05|3.1|4",
        "2024-03-05T10:11:12Z|INFO|started\n2024-03-05T10:12:00Z|WARN|low",
        "12 March 2024|Kessing\n3 May 2024|Corley",
        "4711|Ida|Lead\n4712|Bo|Radar",
        "Ida|1985|2010\nBo|1990|2012",
        "Kessing|2019|12.3\nCorley|830|9.7\nHalden|2021|11\nWeir|7|n/a",
        "1|Ida|2019|12.3\n2|Bo|2020|11",
        "€5|Valve\n€7|Pump",
        "5 kg|Valve\n7 kg|Pump",
        "Present:|Ida Wren, Bo Lenz\nPlace:|Kessing\nDate:|2024-03-12",
    ],
)
def test_values_are_no_names(text: str) -> None:
    assert said(text) is False


@pytest.mark.parametrize(
    "text",
    [
        "Station|Level\nSteinhag|1.42",
        "Region|2023|2024\nNorth|12|13",
        "Region|2022|2023|2024\nNorth|1,200|1,300|1,250",
        "Level|Note\n3.2|\n|n/a\n3|x",
    ],
)
def test_words_above_numbers_and_years_above_amounts_are_names(text: str) -> None:
    assert said(text) is True


@pytest.mark.parametrize(
    "text",
    [
        "Station|Keeper\nSteinhag|Ida",
        "Region|2023\nNorth|12",
        "Player|1|2|3\nIda|5|6|4",
        "Size|16|32|64|128\nKessing|5|6|4|9",
        "0|1|2|3\n5|6|4|x",
        "|12|17\nIda|5|6",
        "Date|1201|1305\n2024-01-01|32|7\n2024-01-02|4|8",
        "Task|2024-03-04|2024-03-05\nDesign|3|x",
        "Gauge|08:00|09:00\nKessing|3.2|3.3",
        "Costs:|Ida\nRent|Bo",
        "Name:|Role:\nIda|Lead",
        "3D model|1st Quarter\nWeir|high",
        "A|1",
    ],
)
def test_other_rows_say_nothing(text: str) -> None:
    assert said(text) is None
