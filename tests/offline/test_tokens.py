import pytest

from lightrag_dagster.offline.tokens import bare, scan


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("on 3 May 2024, May 3, 2024 and 2024-05-03", "date", ["3 May 2024", "May 3, 2024", "2024-05-03"]),
        ("in January 1960, the 16th century, the 1940s, 3500 BC", "date",
         ["January 1960", "16th century", "1940s", "3500 BC"]),
        ("am 3. Mai 2024 und am 01.02.2023", "date", ["3. Mai 2024", "01.02.2023"]),
        ("version 2.4.1, 10.2.15 and port 8080 at 14:05", "date", []),
        ("born (1920–1999), see (2008)", "date", []),
        ("cost $5.7 trillion or €500, 16 GB at 94.1 FM", "number", ["$5.7 trillion", "€500", "16 GB", "94.1 FM"]),
        ('the song "Half a Moon" and „Das Boot“ and 《数据平台》', "title", ["Half a Moon", "Das Boot", "数据平台"]),
        ('she said "You will come back again soon."', "title", []),
        ("run `payments-api` or `rm -rf /`", "term", ["payments-api"]),
        ("PostgreSQL, iPhone, kubectl and Anna.Keller@example.org", "upper", ["PostgreSQL", "iPhone"]),
        ("Алекса\u0301ндр Петро\u0301в-Иванов", "upper", ["Алекса\u0301ндр", "Петро\u0301в-Иванов"]),
        ("東京大学の田中さんはソニーにいる", "name", ["東京大学", "田中", "ソニー"]),
    ],
)  # fmt: skip
def test_scan(text: str, kind: str, expected: list[str]) -> None:
    tokens = scan(text)
    assert [token.text for token in tokens if token.kind == kind] == expected
    assert all(text[token.start : token.end] == token.text for token in tokens)


@pytest.mark.parametrize(("word", "expected"), [("Anna's", "Anna"), ("Jess’", "Jess"), ("class", "class")])
def test_bare(word: str, expected: str) -> None:
    assert bare(word) == expected
