from collections import Counter

import pytest

from lightrag_dagster.offline.mentions import find_in_question
from lightrag_dagster.offline.spellings import canonical, divide


@pytest.mark.parametrize(
    ("text", "known", "expected"),
    [
        ("we met the Tannery Lucian Farrow there", {}, ["Tannery", "Lucian Farrow"]),
        ("Dip Station 31 again", {"station 31": 1}, ["Station 31"]),
        ("we asked Officer of Tollgate Telemetry", {"tollgate telemetry": 2}, ["Tollgate Telemetry"]),
        ("we asked Casimir Holm Northwold Mutual", {"northwold mutual": 2}, ["Casimir Holm", "Northwold Mutual"]),
        ("we asked Casimir Holm Northwold Mutual", {"northwold mutual": 1}, ["Casimir Holm Northwold Mutual"]),
        ("we asked the Bank of Sierra Leone", {"sierra leone": 5}, ["Bank of Sierra Leone"]),
        ("we went to Halden Weir", {"weir": 9}, ["Halden Weir"]),
    ],
)
def test_names_that_run_together_are_divided(text: str, known: dict[str, int], expected: list[str]) -> None:
    tokens, mentions = find_in_question(text)
    (whole,) = [mention.name.casefold() for mention in mentions]
    divided = divide(text, tokens, mentions, Counter({whole: 1, **known}))
    assert [mention.name for mention in divided] == expected
    for mention in divided:
        assert text[mention.start : mention.end] == mention.name
        assert tokens[mention.first].start == mention.start


@pytest.mark.parametrize(
    ("names", "types", "expected"),
    [
        (["The Kessing Siren"], {}, {"the kessing siren": "Kessing Siren"}),
        (["The Kessing Siren", "KESSING SIREN"], {}, {"the kessing siren": "KESSING SIREN"}),
        (["The Steinhag Drawdown"], {"the steinhag drawdown": "other"}, {"the steinhag drawdown": "Steinhag Drawdown"}),
        (["The Hague", "The Beatles"], {}, {}),
        (["The Green Mile"], {"the green mile": "content"}, {}),
        (["The Green Mile", "Green Mile"], {"the green mile": "content"}, {"the green mile": "Green Mile"}),
        (["Heron Loggers", "Heron Logger"], {}, {"heron loggers": "Heron Logger"}),
        (["Stauverbands Steinhag", "Stauverband Steinhag"], {}, {"stauverbands steinhag": "Stauverband Steinhag"}),
        (["Loggers", "Logger", "Orrin Instruments"], {}, {}),
    ],
)
def test_spellings_with_a_better_one(names: list[str], types: dict[str, str], expected: dict[str, str]) -> None:
    spelled = {name.casefold(): name for name in names}
    assert canonical(spelled, dict.fromkeys(spelled, "artifact") | types) == expected
