import pytest

from lightrag_dagster.readers.language import detect_language, language_name

TEXTS = {
    "ar": "انخفض مستوى المياه خلال الليل بمقدار اثني عشر سنتيمترا.",
    "de": "# Pegel Lerchbruck\n\n- Der Pegel fiel über Nacht um zwölf Zentimeter.\n- Das Gehäuse war gerissen.",
    "en": "The gauge was cleaned in spring, and its housing was cracked.",
    "es": "El caudal del río bajó doce centímetros durante la noche.",
    "fr": "Le débit de la rivière a été relevé à l'aube, et l'échelle était cassée.",
    "ja": "水位は夜の間に十二センチ下がった。観測所は春に清掃されました。",
    "ko": "밤사이 수위가 십이 센티미터 내려갔다. 관측소는 봄에 청소되었고 하우징에 금이 갔다.",
    "pl": "Wodowskaz został wyczyszczony wiosną, a jego obudowa była pęknięta.",
    "ru": "Уровень воды упал за ночь на двенадцать сантиметров.",
    "zh": "夜间水位下降了十二厘米。观测站在春天进行了清洁，外壳已经破裂。",
}


@pytest.mark.parametrize("language", TEXTS)
def test_the_language_of_a_sentence(language: str) -> None:
    assert detect_language(TEXTS[language]) == language
    assert detect_language(TEXTS[language] * 1000) == language


@pytest.mark.parametrize(
    "text", ["", "Pegel 12", "1 2 3 4 5 6 7 8 9 " * 50, "| --- | --- |\n| 1.42 | 0.97 |", "x = f(y)\n" * 3]
)
def test_what_is_in_no_language_has_none(text: str) -> None:
    assert detect_language(text) is None


@pytest.mark.parametrize(
    ("code", "name"),
    [("de", "German"), ("zh", "Chinese"), ("no", "Norwegian"), ("qqq", None), ("", None), (None, None)],
)
def test_the_name_of_a_language(code: str | None, name: str | None) -> None:
    assert language_name(code) == name


@pytest.mark.parametrize("language", TEXTS)
def test_what_is_detected_has_a_name(language: str) -> None:
    assert language_name(language)
