"""Names in Japanese, Chinese and Korean text, which has no capitals: found by suffixes, titles and surnames."""

import re
from functools import cache

from lightrag_dagster.offline.words import words

_KANJI, _HANGUL = r"\u3400-\u9fff", r"\uac00-\ud7a3"
_SCRIPTS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")

# Characters of Chinese grammar, which are hardly ever inside a name.
_GRAMMAR = "的了在是和与及由从對对為为于於被把向到有個个這那他她它我你將将并也又或但而其等以之后後入加去来來前位年月日"
# Characters that no name begins with: words for when, whom and how much.
_BEFORE = "时時使让讓给給跟就很最更還还均该該此某每却卻仍"
_COMPANIES = (
    "株式会社|有限公司|公司|集团|大学院|大学|大學|学院|學院|研究所|研究院|银行|銀行|医院|病院|委员会|委員会|協会|协会|"
    "新聞社|出版社|水利局|気象庁"
)
_OFFICES = "局|厅|省庁"
_COMPANIES_FIRST = "株式会社|有限会社|合同会社"
_CAPITALS = "京成昌武花"  # 都 after other characters is "all": 香港都
_PLACES = "道府県省市县縣县区區郡町村州山川江河湖島岛駅港橋桥"
_SURNAMES = (
    "王李张張刘劉陈陳杨楊黄黃赵趙周吴吳徐孙孫马馬朱胡郭何林罗羅高郑鄭梁谢謝宋唐许許韩韓冯馮邓鄧曹彭曾萧蕭田董袁潘"
    "蒋蔡余杜叶葉程苏蘇魏吕呂丁任沈姚卢盧姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚"
)
_JAPANESE_SURNAMES = (
    "佐藤|鈴木|高橋|田中|伊藤|渡辺|渡邊|山本|中村|小林|加藤|吉田|山田|佐々木|山口|松本|井上|木村|清水|斎藤|齋藤|池田|橋本|"
    "阿部|山崎|小川|前田|岡田|長谷川|藤田|後藤|近藤|村上|遠藤|青木|坂本|太田|西村|藤井|三浦|岡本|松田|中島|中川|原田|小野|"
    "竹内|金子|和田|中山|石田|上田|森田"
)
_TITLES = "さん|氏|様|教授|博士|先生|女士|小姐|社長|部長|主任"
_KOREAN_SURNAMES = "김이박최정강조윤장임한오서신권황안송류홍"
_KOREAN_TITLES = "교수|박사|씨|대표|사장|선생|과장|부장|기자"
_PARTICLES = "에서|에게|으로|부터|까지|은|는|이|가|을|를|의|에|와|과|도|로"
_KOREAN_ORGANIZATIONS = (
    "대학교|대학|주식회사|연구원|연구소|기술원|은행|병원|공사|협회|위원회|교육청|환경부|국방부|외교부"
)
_KOREAN_PLACES = "특별시|광역시|시|도|군|구|강|산|섬|역|호수"


def is_used_in(text: str) -> bool:
    """Return True if a text has characters of these scripts."""
    return not text.isascii() and _SCRIPTS.search(text) is not None


def words_apart() -> str:
    """Return a pattern of the Chinese words that no name goes across."""
    return "|".join(sorted(words("apart from names")))


def pattern() -> str:
    """Return a pattern of names, to be compiled with `re.VERBOSE`; every repetition in it is bounded."""
    apart = rf"[{_GRAMMAR}]|{words_apart()}"
    letter, kanji = rf"(?!{apart})[{_KANJI}ァ-ヺー]", rf"(?!{apart})[{_KANJI}]"
    place = rf"(?:[{_PLACES}]|(?<=[{_CAPITALS}])都)"
    begins = rf"(?![{_BEFORE}])"
    return rf"""
        {begins}(?:{letter}){{1,12}}?(?:{_COMPANIES})(?![{_KANJI}]{{0,2}}(?:公司|会社))
      | (?<![{_KANJI}])(?:{_COMPANIES_FIRST})[{_KANJI}ァ-ヺー]{{2,12}}
      | (?<![{_KANJI}])(?:{_JAPANESE_SURNAMES})[{_KANJI}]{{1,3}}?(?<![{_PLACES}都駅])(?=[はがをにのとも、。]|{_TITLES})
      | (?<=[和与及由、，。])[{_SURNAMES}](?![{_GRAMMAR}])[{_KANJI}]{{1,2}}?(?=[在是说和与，。、对把的]|{_TITLES})
      | (?<![{_KANJI}])[{_SURNAMES}](?![{_GRAMMAR}])[{_KANJI}]{{1,2}}?(?=[在是说和与，。、对把的]|{_TITLES})
      | [{_KANJI}]{{1,5}}?(?={_TITLES})
      | {begins}(?:{kanji}){{1,4}}?{place}(?!{place}|[学學院局民人立])
      | {begins}(?:{kanji}){{2,6}}?(?:{_OFFICES})
      | [ァ-ヺー・]{{3,40}}
      | (?<![{_HANGUL}])(?:
            [{_HANGUL}]{{1,8}}?(?:{_KOREAN_ORGANIZATIONS})(?=(?:{_PARTICLES})?(?![{_HANGUL}]))
          | [{_HANGUL}]{{2,8}}[ ]주식회사
          | [{_KOREAN_SURNAMES}][{_HANGUL}]{{2}}(?=[ ](?:{_KOREAN_TITLES})|(?:은|는|가|와|과|씨)(?![{_HANGUL}]))
          | [{_HANGUL}]{{1,5}}?(?:{_KOREAN_PLACES})(?=(?:{_PARTICLES})(?![{_HANGUL}]))
        )
    """


@cache
def _heads() -> dict[str, re.Pattern[str]]:
    return {
        "organization": re.compile(rf".*(?:{_COMPANIES}|{_OFFICES}|{_KOREAN_ORGANIZATIONS})|(?:{_COMPANIES_FIRST}).+"),
        "location": re.compile(rf".*(?:[{_PLACES}都]|{_KOREAN_PLACES})"),
        "person": re.compile(
            rf"[{_SURNAMES}][{_KANJI}]{{1,2}}|(?:{_JAPANESE_SURNAMES})[{_KANJI}]{{1,3}}|[{_KOREAN_SURNAMES}][{_HANGUL}]{{2}}|[ァ-ヺー]+・.+"
        ),
        "artifact": re.compile(r"[ァ-ヺー]+"),
    }


def type_of(name: str) -> str | None:
    """Return the type that a name in these scripts suggests; None for a name in others."""
    if not is_used_in(name):
        return None
    return next((kind for kind, pattern in _heads().items() if pattern.fullmatch(name)), None)


_TITLE = re.compile(rf"\s?(?:{_TITLES}|{_KOREAN_TITLES})")


def is_person(text: str, end: int) -> bool:
    """Return True if a person's title follows the name that ends at `end`."""
    return not text.isascii() and _TITLE.match(text, end) is not None


def is_common(word: str) -> bool:
    """Return True if a word in these scripts is not a name."""
    return word in words("common katakana") or word in words("common chinese")
