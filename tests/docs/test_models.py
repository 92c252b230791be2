import re
from pathlib import Path

from lightrag_dagster.settings import LLMSettings
from lightrag_dagster.spending.prices import price_of
from lightrag_dagster.spending.withdrawals import withdrawal_warnings

DOCS = Path(__file__).parents[2] / "docs"
ROW = re.compile(r"^\| [^|]+ \| `([^`]+)` \| \$([\d.]+) \|(?: \$([\d.]+))? *\|(?: \$([\d.]+))? *\|", re.MULTILINE)
MODEL = re.compile(r"\b(?:gpt-[\w.-]*\w|o\d(?:-mini|-pro)?)\b")


def test_prices_are_those_of_the_package() -> None:
    rows = ROW.findall((DOCS / "models.md").read_text("utf-8"))
    assert len(rows) == 5
    for model, uncached, cached, output in rows:
        price = price_of(LLMSettings(provider="openai", model=model))
        assert (float(uncached), float(output or 0)) == (price.input, price.output)
        assert not cached or float(cached) == price.cached_input


def test_no_page_recommends_a_model_that_is_withdrawn() -> None:
    pages = [DOCS.parent / "README.md", *(page for page in DOCS.glob("*.md") if page.stem != "models")]
    named = {(page.name, model) for page in pages for model in MODEL.findall(page.read_text("utf-8"))}
    assert ("README.md", "gpt-6-luna") in named
    withdrawn = {one for one in named if withdrawal_warnings(LLMSettings(provider="openai", model=one[1]))}
    assert withdrawn <= {("providers.md", "o1"), ("providers.md", "o3"), ("providers.md", "gpt-5")}  # how names begin
