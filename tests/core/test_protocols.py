import json

import pytest

from lightrag_dagster.core.protocols import ChatRequest, Message, question_tokens, rough_tokens, text_tokens
from lightrag_dagster.core.text.tokens import load_tokenizer
from lightrag_dagster.stages.prompts import load_prompts

ROWS = "entity<|#|>Noah Carter<|#|>person<|#|>A runner.\nrelation<|#|>Noah<|#|>Cup<|#|>won<|#|>Won it.\n" * 4
RULES = load_prompts(None).render("extraction_system", entity_types="")
FACT = {"subject": "Noah Carter", "relation": "won", "object": "Cup", "when": "2024-05-03", "value": 12345.67}
TEXTS = {
    "rows": ROWS,
    "the prompt's own rows": "\n".join(one for one in RULES.splitlines() if "<|#|>" in one),
    "JSON": json.dumps([FACT] * 4),
    "indented JSON": json.dumps([FACT] * 4, indent=2),
    "a table": "| a | b | 12 | 3.5% |\n" * 40,
    "numbers": " ".join(str(7919 * one % 100_000) for one in range(300)),
    "times": "\n".join(f"2024-0{one % 9 + 1}-1{one % 9} 12:0{one % 9},{one}.5" for one in range(99)),
    "Chinese": "知识图谱是一种用图结构来表示知识的方法，它把实体和关系连接起来。" * 9,
    "German": "Die Donaudampfschifffahrtsgesellschaft prüfte überall Pegelstände. " * 9,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_an_estimate_is_too_high_rather_than_too_low(text: str) -> None:
    """Rows of an extraction had a seventh fewer by their bytes alone, so that a budget did not hold."""
    tokenizer = load_tokenizer("o200k_base")
    assert tokenizer.count(text) <= text_tokens(text) <= 3 * tokenizer.count(text)
    request = ChatRequest("extract", (Message("system", "Rules"), Message("user", text)))
    assert question_tokens(request, tokenizer.counts) <= rough_tokens(request)
