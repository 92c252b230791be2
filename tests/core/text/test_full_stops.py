import pytest

from lightrag_dagster.core.text.full_stops import ends_sentence


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("am 1. April", False),
        ("im 3. Quartal", False),
        ("im 20. Jahrhundert", False),
        ("am 1. Die", True),
        ("im Jahr 2021. April", True),
        *((f"{word}. {then}", False) for word, then in [("3,2 Mio", "Euro"), ("5 Mrd", "€"), ("40 Tsd", "Kunden")]),
        *((f"{word}. 5", False) for word in ("Str", "Hauptstr", "Abs", "Nr", "No", "Sp")),
        *((f"{word}. Berlin", False) for word in ("Dr", "z. B", "z.B", "d.h", "St", "(Dr")),
        ("3 Mio. Die", True),
        ("Oh no. Bonn", True),
        ("3.5. Bonn", True),
        ("5 %. Bonn", True),
        ("example.com. Bonn", True),
        ("Bonn. bis", False),
        ("Bonn. (Siehe", True),
        ("Dr.\n\nKeller", True),
        ("Dr.", False),
    ],
)
def test_a_full_stop_ends_a_sentence_or_belongs_to_a_word(text: str, ends: bool) -> None:
    stop = text.rindex(".")
    assert ends_sentence(text, stop, len(text) - len(text[stop + 1 :].lstrip())) is ends
    assert ends_sentence(text.replace(".", "!"), stop, stop + 1)
