import io
import re
import zipfile
from pathlib import Path

import pytest
from lxml import etree

from lightrag_dagster.readers.extraction import extract_text
from lightrag_dagster.readers.office.charts import chart_text, diagram_text

SAMPLES = Path(__file__).parents[1] / "samples" / "charts"
LEVELS = "Levels in m\n\n|  | spring | autumn |\n| --- | --- | --- |\n| Steinhag | 1.42 | 0.8 |\n| Corley | 0.97 |"


@pytest.mark.parametrize("name", ["python-pptx.pptx", "libreoffice.pptx"])
def test_charts_are_tables_of_their_numbers(name: str) -> None:
    read = extract_text((SAMPLES / name).read_bytes(), name)
    columns, lines, points = (f"## Levels{slide.rstrip()}" for slide in read.text.split("## Levels")[1:])
    assert columns == lines == f"## Levels\n\n{LEVELS}"
    assert points.replace(".0 ", " ") == (
        "## Levels\n\nLevels in m\n\n"
        "|  | weir |\n| --- | --- |\n| 0.5 | 12 |\n| 1 | 30 |\n\n|  | dam |\n| --- | --- |\n| 2.5 | 12 |\n| 3 | 30 |"
    )


def test_a_diagram_is_a_list() -> None:
    read = extract_text((SAMPLES / "diagram.pptx").read_bytes(), "diagram.pptx")
    assert read.text == "## Rounds\n\n- Read the gauge\n- Call the office"


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        ("0-1 1-3 1-2 2-4", "- Ida\n  - Bo\n    - Dan\n  - Cy"),
        ("0-1 1-2 2-1 3-4 4-3", "- Ida\n  - Bo\n- Cy\n  - Dan"),
        ("3-1", "- Bo\n- Cy\n  - Ida\n- Dan"),
        ("0-1 2-x", "- Ida\n- Bo\n- Cy\n- Dan"),
        ("", "- Ida\n- Bo\n- Cy\n- Dan"),
    ],
)
def test_a_diagram_keeps_who_is_below_whom(links: str, expected: str) -> None:
    points = enumerate(("", "Ida", "Bo", "Cy", "Dan"))
    text = "http://schemas.openxmlformats.org/drawingml/2006/main"
    listed = "".join(f"<pt modelId='{n}'><t><p xmlns='{text}'><r><t>{one}</t></r></p></t></pt>" for n, one in points)
    pairs = [link.split("-") for link in links.split()]
    drawn = "".join(f"<cxn srcId='{one}' destId='{other}' srcOrd='{other}'/>" for one, other in pairs)
    shown = "<cxn type='presOf' srcId='4' destId='1'/>"
    diagram = f"<dataModel><ptLst>{listed}</ptLst><cxnLst>{drawn}{shown}</cxnLst></dataModel>"
    assert diagram_text(etree.fromstring(diagram)) == expected


def test_categories_of_two_levels_and_series_without_names_or_numbers() -> None:
    points = "".join(f"<lvl><pt idx='0'><v>{level}</v></pt></lvl>" for level in ("May", "2025"))
    series = f"<ser><cat>{points}</cat><val><pt idx='0'><v>3</v></pt><pt idx='1'/></val></ser><ser/>"
    assert chart_text(etree.fromstring(f"<chartSpace>{series}</chartSpace>")).splitlines()[-1] == "| 2025 May | 3 |"
    assert chart_text(etree.fromstring("<chartSpace/>")) == ""


def test_a_number_without_a_place_is_the_first() -> None:
    label, number = (
        f"<{name}><pt{place}><v>{value}</v></pt></{name}>"
        for name, place, value in (("cat", " idx='0'", "May"), ("val", "", 3))
    )
    chart = etree.fromstring(f"<chartSpace><ser>{label}{number}</ser></chartSpace>")
    assert chart_text(chart).splitlines()[-1] == "| May | 3 |"


@pytest.mark.parametrize(
    ("name", "part", "kept"),
    [
        ("python-pptx.pptx", b"/relationships/chart", "## Levels\n\n## Levels\n\n## Levels"),
        ("diagram.pptx", b"/relationships/diagramData", "## Rounds"),
    ],
)
def test_a_chart_or_diagram_that_is_not_in_the_file_costs_only_itself(name: str, part: bytes, kept: str) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(SAMPLES / name) as deck, zipfile.ZipFile(data, "w") as copy:
        for member in deck.namelist():
            content = deck.read(member)
            if member.startswith("ppt/slides/_rels/"):
                content = re.sub(rb"<Relationship [^>]*" + part + rb"[^>]*/>", b"", content)
            copy.writestr(member, content)
    assert extract_text(data.getvalue(), name).text == kept


@pytest.mark.parametrize(
    ("code", "value", "shown"),
    [
        ("0%", "0.42", "42%"),
        ("m/d/yyyy", "45658", "2025-01-01"),
        ("mmm-yy", "45658", "Jan-2025"),
        ("#,##0.00", "1234.5", "1,234.50"),
        ("General", "4.2999999999999998", "4.3"),
        ("0%", "#N/A", "#N/A"),
        ("0.0 &quot;kg&quot;;[Red]-0.0\\ \\k\\g", "1.25", "1.3 kg"),
        ("[$-409]mmm\\ yyyy;@", "45658", "Jan 2025"),
        ("[h]", "1.5", "36"),
        # General in other languages, and dates in them; words without a number.
        *(
            (code, "1.50", "1.5")
            for code in ("Основной", "Standard", "Estándar", "Général", "Geral", "G/标准", "Yleinen")
        ),
        ("TT.MM.JJJJ", "45658", "45658"),
        ("&quot;Sum&quot;", "3", "3"),
    ],
)
def test_numbers_are_shown_by_their_formats(code: str, value: str, shown: str) -> None:
    numbers = f"<numCache><formatCode>{code}</formatCode><pt idx='0'><v>{value}</v></pt></numCache>"
    own = f"<numCache><formatCode>0</formatCode><pt idx='0' formatCode='{code}'><v>{value}</v></pt></numCache>"
    for cache in (numbers, own):
        chart = f"<chartSpace><ser><cat>{cache}</cat><val>{cache}</val></ser></chartSpace>"
        assert chart_text(etree.fromstring(chart)).splitlines()[-1] == f"| {shown} | {shown} |"


def test_dates_may_count_from_1904() -> None:
    numbers = "<numCache><formatCode>yyyy-mm-dd</formatCode><pt idx='0'><v>44196</v></pt></numCache>"
    chart = f"<chartSpace><date1904 val='1'/><ser><val>{numbers}</val></ser></chartSpace>"
    assert chart_text(etree.fromstring(chart)).splitlines()[-1] == "| 2025-01-01 |"
