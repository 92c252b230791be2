"""Tables that go on at the next page; `test_ruled_tables.py` has those of one."""

from lightrag_dagster.readers.pdf.continued import repeat_headers
from lightrag_dagster.readers.pdf.lines import Line

RULE = "| --- | --- |"


def page(*parts: str) -> list[Line]:
    return [Line(f"\n{part}\n" if part.startswith("|") else part) for part in parts]


def test_the_header_of_a_table_is_repeated_on_the_next_pages() -> None:
    first, second, third, last = "| Name | Level |", "| A | 1.42 |", "| B | 0.97 |", "| C | 3 % |"
    pages = [
        page("Levels", "\n".join([first, RULE, second]), "1"),
        page("", "\n".join([third, RULE, "| D |"]), "", "2"),
        page("\n".join([last, RULE, second]), "The end of it."),
    ]
    repeat_headers(pages)
    assert [one[1 if len(one) > 2 else 0].text.strip().split("\n") for one in pages] == [
        [first, RULE, second],
        [first, RULE, third, "| D |"],
        [first, RULE, last, second],
    ]


def test_another_table_keeps_its_header() -> None:
    table = "\n".join(["| Name | Level |", RULE, "| A | 1.42 |"])
    for other in ("| Place | Year |", "| Name | Level |", "| B | 1 | 2 |", "| 5 | many |"):
        below = [other, RULE if other.count("|") == 3 else f"{RULE} --- |", "| C | 2 |"]
        pages = [page(table), page("\n".join(below))]
        repeat_headers(pages)
        assert pages == [page(table), page("\n".join(below))]
    apart = [page(table, "One.", "Two.", "Three."), page("\n".join(["| B | 2 |", RULE]))]
    repeat_headers(apart)
    assert apart[1] == page("\n".join(["| B | 2 |", RULE]))
