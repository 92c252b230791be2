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


@pytest.mark.parametrize("suffix", ["json", "jsonl", "ndjson", "geojson"])
def test_no_line_break_of_json_is_glued_to_a_word(suffix: str) -> None:
    data = rb'{"text": "At noon.\n\nCorley Bridge\tclosed.\r\n", "path": "C:\\new\\table", "at": "12\/03\u000a"}'
    told = r'{"text": "At noon. Corley Bridge closed. ", "path": "C:\\new\\table", "at": "12/03 "}'
    assert extract_text(data, f"a.{suffix}").text == told
    assert extract_text(rb'a: "x\ny"', "a.yaml").text == r'a: "x\ny"'


ROW = rb'{"name": "K\u00fchler", "text": "a\nb"}'
READ = '{"name": "Kühler", "text": "a b"}'


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("a.log", b"s \\u00fc\n" + ROW + b"\nend C:\\new", f"s \\u00fc\n{READ}\nend C:\\new"),
        *[("a.log", one + ROW, (one + ROW).decode()) for one in (b"12:01 INFO ", b"[", b"[" * 200_000)],
        ("a.log", b"x\n  " + ROW + b" \r", f"x\n  {READ}"),
        ("a.txt", rb'{\n  "name": "K\u00fchler"\n}'.replace(rb"\n", b"\n"), '{\n  "name": "Kühler"\n}'),
        *[("a.txt", one.encode(), one) for one in (r"{\rtf1 \u8220?}", r"[x] C:\new\u00fc", "K\\u00fchler")],
        *[("a.log", one, one) for one in (r"E [[A] b] C:\bea\reports\new.txt", r'{"a": "x"} C:\new', r'["C:\new"]')],
        *[("a.txt", one, one) for one in (r"\sqrt{{x}} \beta \tau", "{{Infobox\n| a = \\beta\n}}", r'{"a": "x\n"')],
        *[(f"a.{one}", r"/[^\u0020]\u00fc/", r"/[^\u0020]\u00fc/") for one in ("js", "ts", "tsx")],
        ("a.csv", 'n,a\n1,"[""C:\\new""]"\n2,[x \\t', '| n | a |\n| --- | --- |\n| 1 | ["C:\\new"] |\n| 2 | [x \\t |'),
        ("a.csv", b'n,a\n1,"[""K\\u00fc""]"\n2,K\\u00fc', '| n | a |\n| --- | --- |\n| 1 | ["Kü"] |\n| 2 | K\\u00fc |'),
        ("a.py", rb'["K\u00fc\n"]', r'["K\u00fc\n"]'),
    ],
)  # fmt: skip
def test_json_is_read_as_such_in_other_files(name: str, data: bytes | str, expected: str) -> None:
    assert extract_text(data.encode() if isinstance(data, str) else data, name).text == expected


@given(st.text())
def test_json_keeps_its_meaning(text: str) -> None:
    assert json.loads(unescaped(json.dumps(text))) == text
