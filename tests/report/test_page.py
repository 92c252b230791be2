"""A page runs its own scripts alone, asks nothing, and holds text that cannot leave its place."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.report import page
from lightrag_dagster.report.fitting import as_json
from lightrag_dagster.storage.home import Home
from tests.report.homes import report
from tests.report.poison import poisoned

OWN = [path for path in (Path(page.__file__).parent / "page").iterdir() if path.suffix in (".js", ".html", ".css")]


class Parts(HTMLParser):
    """Scripts and styles with their text, and all attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.styles: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self._open = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self._open = tag
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        if tag == "style":
            self.styles.append("")

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open == "script":
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)
        if self._open == "style":
            self.styles[-1] += data


def hash_of(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@pytest.fixture(scope="module")
def html(published_home: Path) -> str:
    return report(Home(published_home)).html


def test_the_policy_allows_the_scripts_and_the_style_of_the_page_and_nothing_outside(html: str) -> None:
    parts = Parts(html)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    assert policy
    rules = dict(one.strip().split(" ", 1) for one in policy[1].split(";"))
    code = [text for attributes, text in parts.scripts if "type" not in attributes]
    assert rules.pop("script-src").split() == [hash_of(text) for text in code]
    assert rules.pop("style-src").split() == [hash_of(text) for text in parts.styles]
    assert rules.pop("default-src") == "'none'"
    assert set(rules.values()) == {"'none'"}
    assert {"connect-src", "base-uri", "form-action", "img-src"} == set(rules)


def test_nothing_is_loaded_from_elsewhere(html: str) -> None:
    parts = Parts(html)
    assert not {"img", "iframe", "link", "object", "embed", "base", "form"} & set(parts.tags)
    assert not [name for name, _ in parts.attributes if name.startswith("on") or name in ("src", "style")]
    assert [value for name, value in parts.attributes if name == "href"] == ["#search"]
    assert "sourceMappingURL" not in html


def test_the_scripts_put_text_on_the_page_as_text() -> None:
    own = "".join(path.read_text() for path in OWN)
    refused = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "srcdoc")
    assert not [one for one in (*refused, "createContextualFragment", "setHTML", "fetch(", "XMLHttp") if one in own]


def test_licences_stand_in_the_file(html: str) -> None:
    assert html.count("Permission is hereby granted") == 4


def test_no_text_leaves_its_place(published_home: Path) -> None:
    found = report(Home(published_home))
    data = poisoned(found.data)
    text = page.page_of("<script>window.hit=1</script>", data)
    clean, dirty = Parts(found.html), Parts(text)
    assert dirty.tags == clean.tags
    assert dirty.attributes[2:] == clean.attributes[2:]
    assert [text for attributes, text in dirty.scripts if "type" not in attributes] == [
        text for attributes, text in clean.scripts if "type" not in attributes
    ]
    (shown,) = (json.loads(text) for attributes, text in dirty.scripts if "type" in attributes)
    assert shown == data


VALUES = st.recursive(
    st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


@given(VALUES)
def test_json_comes_back_and_has_no_markup(value: object) -> None:
    text = as_json(value)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == value


def test_a_lone_half_of_a_pair_is_replaced() -> None:
    assert as_json("a\ud800b") == '"a?b"'


def test_a_place_in_the_template_is_filled_once(published_home: Path) -> None:
    data = report(Home(published_home)).data
    data["about"] = ["{script} {style} {shown}"]
    assert "{script} {style} {shown}" in page.page_of("Title", data)
