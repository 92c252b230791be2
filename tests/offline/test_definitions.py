import pytest

from lightrag_dagster.offline.definitions import begins, type_of
from lightrag_dagster.offline.tokens import scan


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Clonbrook is a village in the region", "location"),
        ("Clonbrook (pop. 25) is a small village", "location"),
        ("Clonbrook, also known as Bee Hive, was a village", "location"),
        ("Falck was an American film director, screenwriter and producer", "person"),
        ("Falck is a retired water polo player from Italy", "person"),
        ("Falck is one of the singers of the band", "person"),
        ("Venus is a 1929 French silent drama film directed by a man", "content"),
        ("Shinee is a South Korean boy band", "organization"),
        ("Panax is a genus of plants", "creature"),
        ("Elbe ist ein Fluss in Europa", "location"),
        ("Falck, the engineer, said no", "person"),
        ("Falck, keeper of the lock", "person"),
        ("Clonbrook, Texas", None),
        ("Clonbrook was opened by a singer", None),
        ("Clonbrook and the village", None),
        ("Clonbrook", None),
    ],
)
def test_the_noun_of_a_definition(text: str, expected: str | None) -> None:
    tokens = scan(text)
    at = begins(text, tokens, 1) if len(tokens) > 1 else 0
    assert (type_of(text, tokens, at) if at else None) == expected
