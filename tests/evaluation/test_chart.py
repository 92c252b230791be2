from xml.etree import ElementTree

from lightrag_dagster.evaluation.bootstrap import Estimate
from lightrag_dagster.evaluation.chart import chart

SVG = "{http://www.w3.org/2000/svg}"
ROWS = [("ppr & more", Estimate(0.8, 0.7, 0.9, 30)), ("naive", Estimate(0.5, 0.25, 1.0, 30))]


def test_a_name_a_mean_and_an_interval_for_each_row() -> None:
    image = ElementTree.fromstring(chart("recall@5", ROWS))
    texts = ["".join(one.itertext()).strip() for one in image.iter(f"{SVG}text")]
    assert {"recall@5", "ppr & more  0.800", "naive  0.500"} <= set(texts)
    collection = next(one for one in image.iter(f"{SVG}g") if one.get("id", "").startswith("LineCollection"))
    first, second = (path.attrib["d"].split() for path in collection.iter(f"{SVG}path"))
    width = {line: float(points[4]) - float(points[1]) for line, points in (("first", first), ("second", second))}
    assert width["second"] / width["first"] > 3.5
    assert float(first[2]) < float(second[2])


def test_the_same_rows_give_the_same_text() -> None:
    assert chart("recall@5", ROWS) == chart("recall@5", ROWS)
