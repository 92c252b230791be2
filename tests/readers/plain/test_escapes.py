import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.readers.extraction import extract_text
from lightrag_dagster.readers.plain.escapes import unescaped


# Reported case G3.
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r'{"name": "M\u00fcnchen", "text": "line\nbreak"}', r'{"name": "München", "text": "line\nbreak"}'),
        (r'["\u6c34\u4f4d", "\uD83D\uDE00 \u201cA\u201d \u003cb\u003e"]', '["水位", "😀 “A” <b>"]'),
        (r"name=\u00DCberlauf", "name=Überlauf"),
        # The text's own structure: quotes, backslashes, controls, line separators, and a backslash before a `u`.
        *[(one, one) for one in (r'"\u0022 \u005c \u000a \u0000 \u2028"', r'"C:\\u00fc"', r'"\ud83d a \ude00"')],
        *[(one, one) for one in (r'"\u12"', r'"\n\t\/"', "", "plain")],
        (r'"\\\u00fc"', r'"\\ü"'),
        ('{"a": "\\u00fc"}\n{"a": "\\u6c34 \\"q\\" \\\\u00fc"}\n', '{"a": "ü"}\n{"a": "水 \\"q\\" \\\\u00fc"}\n'),
        # YAML's dump
        (r'name: "M\xFCnchen \u6C34\u4F4D \U0001F600"', 'name: "München 水位 😀"'),
        *[(one, one) for one in (r'a: "\x41\x00"'.replace("41", "0A"), r"path: C:\xampp\Users", r'"\U0011FFFF"')],
    ],
)  # fmt: skip
def test_letters_stand_for_their_escapes(text: str, expected: str) -> None:
    assert unescaped(text) == expected


@pytest.mark.parametrize("suffix", ["json", "jsonl", "properties", "yaml", "yml"])
def test_formats_with_escapes(suffix: str) -> None:
    assert extract_text(rb'"M\u00fcnchen"', f"a.{suffix}").text == '"München"'
    assert extract_text(rb'"M\u00fcnchen"', "a.py").text == r'"M\u00fcnchen"'


@given(st.text())
def test_json_keeps_its_meaning(text: str) -> None:
    assert json.loads(unescaped(json.dumps(text))) == text
