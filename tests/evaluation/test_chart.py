from xml.etree import ElementTree

from lightrag_dagster.evaluation.bootstrap import Estimate
from lightrag_dagster.evaluation.chart import chart

SVG = "{http://www.w3.org/2000/svg}"


def test_a_dot_a_line_and_a_name_for_each_row() -> None:
    rows = [("ppr & more", Estimate(0.8, 0.7, 0.9, 30)), ("naive", Estimate(0.5, 0.25, 1.0, 30))]
    image = ElementTree.fromstring(chart("recall@5", rows))
    texts = [one.text for one in image.iter(f"{SVG}text")]
    assert texts[0] == "recall@5"
    assert {"ppr & more", "naive", "0.800", "0.500"} <= set(texts)
    first, second = image.iter(f"{SVG}circle")
    assert float(first.attrib["cx"]) > float(second.attrib["cx"])
    *_, interval, whole = (one for one in image.iter(f"{SVG}line") if one.attrib["stroke-width"] == "3")
    assert float(whole.attrib["x1"]) < float(interval.attrib["x1"]) < float(first.attrib["cx"])
    assert float(interval.attrib["x2"]) < float(whole.attrib["x2"])
