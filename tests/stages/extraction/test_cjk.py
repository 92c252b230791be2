"""Spaces, quotes and full-width characters in Chinese, Japanese and Korean fields."""

from tests.stages.extraction.reading import differences, read, read_json

# A name as it is written, and as it is read.
NAMES = {
    # between two characters
    "北 京": "北京",
    "北  京": "北京",
    "北\t京": "北京",
    "北\u3000京": "北京",
    "北\u00a0京": "北京",
    "北\u2009京": "北京",
    "北\u202f京": "北京",
    "北 京 大 学": "北京大学",
    " 北 京 ": "北京",
    "東京 タワー": "東京タワー",
    "さくら ももこ": "さくらももこ",
    "ｱ ｲ": "ｱｲ",
    "カ ー": "カー",
    "佐々 木": "佐々木",
    "二〇 二四": "二〇二四",
    "𠮷 野家": "𠮷野家",
    "か\u3099 き": "か\u3099き",
    "ㄅ ㄆ": "ㄅㄆ",
    "㈱ 日立": "㈱日立",
    "서울 대학교": "서울대학교",
    "대한 민국 정부": "대한민국정부",
    "한국 은행 総裁": "한국은행総裁",
    # between a character and ASCII
    "中国 ABC": "中国ABC",
    "ABC 中国": "ABC中国",
    "中国 2024 年": "中国2024年",
    "第 1 章": "第1章",
    "A 股": "A股",
    "3 月 5 日": "3月5日",
    "iPhone 15 Pro 手机": "iPhone 15 Pro手机",
    "C++ 语言": "C++语言",
    "C# 语言": "C#语言",
    "100% 中国": "100%中国",
    "微信 (WeChat)": "微信(WeChat)",
    "中国 [CN] 银行": "中国[CN]银行",
    "@ 北京": "@北京",
    "北京 - 上海": "北京-上海",
    "北京 & 上海": "北京&上海",
    "中_ 国": "中_国",
    "삼성 SDS": "삼성SDS",
    "トヨタ 86": "トヨタ86",
    "K 팝": "K팝",
    # beside marks that are written without spaces
    "北京 ，上海": "北京，上海",
    "北京， 上海": "北京，上海",
    "北京 、 上海": "北京、上海",
    "《三国》 演义": "《三国》演义",
    "东京 「塔」": "东京「塔」",
    "约翰 · 史密斯": "约翰·史密斯",
    "ジョン ・ スミス": "ジョン・スミス",
    "第一章 ： 总则": "第一章：总则",
    "北京 — 上海": "北京-上海",
    # where spaces stay
    "New York": "New York",
    "北京: Beijing": "北京: Beijing",
    "北京， Beijing": "北京， Beijing",
    "é 中": "é 中",
    "中 😀 国": "中 😀 国",
    "Ａ Ｂ": "A B",
    # full-width
    "ＡＢＣ": "ABC",
    "ａｂｃ １２３": "abc 123",
    "Ａ 组": "A组",
    "２０２４ 年": "2024年",
    "Ａ－Ｂ＋Ｃ／Ｄ＊Ｅ": "A-B+C/D*E",
    "中国 （北京）": "中国(北京)",
    "中国（ 北京 ）": "中国(北京)",
    "北京\u3000—\u3000上海": "北京-上海",
    "ＮＡＳＡ （ 米国 ）": "NASA (米国)",
    # quotes
    "“中国” 银行": "中国银行",
    '"中国" 银行': "中国银行",
    "中国'银行'": "中国银行",
    "《红 楼 梦》": "红楼梦",
    "《红楼梦》": "红楼梦",
    "‘ 北 京 ’": "北京",
    '"서울"의 봄': "서울의봄",
    "『坊っちゃん』": "『坊っちゃん』",
    # of one character, or of numbers alone
    "京": "京",
    "“京”": "京",
    "カ": "カ",
    "가": "가",
    "３": "",
    "４ ２": "4 2",
    "４２": "",
    "４２０": "420",
    "三": "三",
    # with references and characters that show nothing
    "北&nbsp;京": "北京",
    "北 &amp; 京": "北&京",
    "北\u200b 京": "北京",
    "R&amp;D 部门": "R&D部门",
    "北<br>京": "北京",
    "北 <br/> 京": "北京",
}


def test_names() -> None:
    expected = {written: [f"{name} ¦ 地点 ¦ d"] if name else [] for written, name in NAMES.items()}
    assert differences(expected, lambda name: read(f"entity¦{name}¦地 点¦d")) == {}
    assert differences(expected, lambda name: read_json(name, "地 点", "d")) == {}


def test_keywords() -> None:
    commas = {"北京，上海", "北京， 上海", "北京， Beijing", "北京 ，上海"}
    expected = {written: [f"A ¦ B ¦ {name} ¦ d"] for written, name in NAMES.items() if written not in commas}
    assert differences(expected, lambda keywords: read(f"relation¦A¦B¦{keywords}¦d")) == {}
    assert differences(expected, lambda keywords: read_json("A", "B", keywords, "d")) == {}


ROWS = {
    "relation¦北 京¦中国 ABC¦首 都，政 治¦北京 是 中国 的 首都 。": "北京 ¦ 中国ABC ¦ 首都,政治 ¦ 北京是中国的首都。",
    "relation¦北京¦上海¦贸易 ， 政策¦d": "北京 ¦ 上海 ¦ 贸易,政策 ¦ d",
    "relation¦北京¦上海¦贸易, 政策¦d": "北京 ¦ 上海 ¦ 贸易, 政策 ¦ d",
    "relation¦A¦Ａ¦k¦d": None,
    "relation¦北 京¦北京¦k¦d": None,
    "entity¦北京¦组 织，地点¦d": "北京 ¦ 组织 ¦ d",
    "entity¦北京¦组织、地点¦d": "北京 ¦ 组织 ¦ d",
    "entity¦北京¦Ｌｏｃａｔｉｏｎ¦d": "北京 ¦ location ¦ d",
    "entity¦北京¦（地点）¦d": "北京 ¦ 地点 ¦ d",
    "entity¦北京¦地点／城市¦d": "北京 ¦ 地点 ¦ d",
    # descriptions: quotes inside stay, and Korean prose keeps its spaces
    "entity¦鲁迅¦人物¦他说 “你 好” 。": "鲁迅 ¦ 人物 ¦ 他说 “你好” 。",
    'entity¦鲁迅¦人物¦"他是作家。"': "鲁迅 ¦ 人物 ¦ 他是作家。",
    "entity¦鲁迅¦人物¦《他》是 作家。": "鲁迅 ¦ 人物 ¦ 《他》是作家。",
    "entity¦鲁迅¦人物¦《作家》": "鲁迅 ¦ 人物 ¦ 作家",
    "entity¦東京¦地点¦東京 は 日本 の 首都 です。": "東京 ¦ 地点 ¦ 東京は日本の首都です。",
    "entity¦서울¦지역¦서울은 대한민국의 수도이다.": "서울 ¦ 지역 ¦ 서울은 대한민국의 수도이다.",
    "entity¦서울¦지역¦서울은 2024 년 의 수도.": "서울 ¦ 지역 ¦ 서울은 2024 년 의 수도.",
    "entity¦Beijing¦Location¦Beijing （北京） is a city.": "Beijing ¦ location ¦ Beijing (北京) is a city.",
    "entity¦OpenAI¦组织¦OpenAI 在 2022 年 发布 ChatGPT 。": "OpenAI ¦ 组织 ¦ OpenAI在2022年发布ChatGPT 。",
    # delimiters, tags and labels as such answers have them
    "entity＜｜＃｜＞北 京＜｜＃｜＞地点＜｜＃｜＞d": "北京 ¦ 地点 ¦ d",
    "entity<｜#｜>北京<｜#｜>地点<｜#｜>城。<｜COMPLETE｜>": "北京 ¦ 地点 ¦ 城。",
    "（entity¦北京¦地点¦城。）": "北京 ¦ 地点 ¦ 城。",
    "【entity】¦北京¦地点¦城。": "北京 ¦ 地点 ¦ 城。",
    "【entity¦北京¦地点¦城。】": "北京 ¦ 地点 ¦ 城。",
    "entity¦北京¦地点¦（城。）": "北京 ¦ 地点 ¦ (城。)",
    "entity：北京¦地点¦城。": "北京 ¦ 地点 ¦ 城。",
    "・entity¦北京¦地点¦城。": "北京 ¦ 地点 ¦ 城。",
    "entity¦名 称¦概念¦d\r\n": "名称 ¦ 概念 ¦ d",
    "entity¦京¦地¦城": "京 ¦ 地 ¦ 城",
    "relation¦京¦沪¦路¦远": "京 ¦ 沪 ¦ 路 ¦ 远",
    "relation¦京¦沪¦铁路¦京沪铁路连接两地。¦强": "京 ¦ 沪 ¦ 铁路 ¦ 京沪铁路连接两地。",
    "relation¦京¦沪¦京沪铁路连接两地。¦铁路¦９": "京 ¦ 沪 ¦ 铁路 ¦ 京沪铁路连接两地。 ¦ 9",
}


def test_rows() -> None:
    assert differences({row: [line] if line else [] for row, line in ROWS.items()}, read) == {}
