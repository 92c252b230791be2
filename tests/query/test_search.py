import pytest

from lightrag_dagster.query.search import Plan, plan
from lightrag_dagster.query.types import Keywords

BOTH = Keywords(("rivers", "trade"), ("Ada", "Bergen"))
LOW, HIGH = Keywords(low_level=("Ada",)), Keywords(high_level=("rivers",))


@pytest.mark.parametrize(
    ("mode", "keywords", "expected"),
    [
        ("naive", BOTH, Plan("", "", chunks=True)),
        ("local", BOTH, Plan("Ada, Bergen", "", chunks=False)),
        ("global", BOTH, Plan("", "rivers, trade", chunks=False)),
        ("hybrid", BOTH, Plan("Ada, Bergen", "rivers, trade", chunks=False)),
        ("mix", BOTH, Plan("Ada, Bergen", "rivers, trade", chunks=True)),
        ("local", HIGH, Plan("", "rivers", chunks=False)),
        ("global", LOW, Plan("Ada", "", chunks=False)),
        ("hybrid", LOW, Plan("Ada", "", chunks=False)),
        ("mix", HIGH, Plan("", "rivers", chunks=True)),
    ],
)
def test_what_a_mode_searches_for(mode: str, keywords: Keywords, expected: Plan) -> None:
    assert plan(mode, keywords) == expected
