import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.offline.extractor import extract


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("田中さんは北京大学と深圳市にいる。",
         {"田中": "person", "北京大学": "organization", "深圳市": "location"}),
        ("装置はミナト電機株式会社が大阪市の工場で作ったアクアメーターだ。",
         {"ミナト電機株式会社": "organization", "大阪市": "location", "アクアメーター": "artifact"}),
        ("昨日、佐藤花子は株式会社川上製作所の工場を見た。山口市は雨だった。",
         {"佐藤花子": "person", "株式会社川上製作所": "organization", "山口市": "location"}),
        ("センサーのデータは東京都にある。", {"東京都": "location"}),
        ("王小明在北京大学学习，毕业后加入华清仪器有限公司。",
         {"王小明": "person", "北京大学": "organization", "华清仪器有限公司": "organization"}),
        ("公司总部在深圳市南山区，他和陈丽华在太湖边。",
         {"深圳市": "location", "南山区": "location", "陈丽华": "person", "太湖": "location"}),
        ("김민수는 서울대학교에서 공부했다. 회사는 부산광역시에 있다.",
         {"김민수": "person", "서울대학교": "organization", "부산광역시": "location"}),
        ("박지영 교수는 낙동강의 유량을 조사했다.", {"박지영": "person", "낙동강": "location"}),
        # Words of grammar and common words beside and across names.
        ("他为香港而战，成为香港市民。", {"香港": "location"}),
        ("當時他為臺灣省工作，前往花蓮縣。", {"臺灣省": "location", "花蓮縣": "location"}),
        ("争取社区支持，时洛阳人都知道，小区都在城区。", {}),
        ("成都市和东京都都在抵达上海港以前。", {"成都市": "location", "东京都": "location", "上海港": "location"}),
    ],
)  # fmt: skip
def test_names_and_types(text: str, expected: dict[str, str]) -> None:
    assert {entity.name: entity.type for entity in extract(text).entities} == expected


@given(st.text(st.sampled_from("王小明在北京大学市和公司のアー・김은大 는,。「」"), max_size=60))
def test_names_are_parts_of_the_text(text: str) -> None:
    for entity in extract(text).entities:
        assert entity.name.split()[0] in text


@pytest.mark.parametrize("unit", ["王小", "王", "公司", "有限", "アー", "김", "김민", "대학", "시 ", "山川", "和王"])
def test_no_run_takes_more_than_linear_time(unit: str) -> None:
    start = time.process_time()
    extract(unit * (20_000 // len(unit)))
    assert time.process_time() - start < 1.5
