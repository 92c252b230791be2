"""Reasoning that a model writes before or between the parts of its answer."""

import json
import re
from typing import Any

from lightrag_dagster.stages.extraction.json_answers import repaired
from lightrag_dagster.stages.extraction.tuple_rows import ROW_START

# `<think>`, `[THINK]`, `<reasoning>`, `◁think▷`, `<seed:think>`, `<|begin_of_thought|>`, channels of gpt-oss, of
# which some servers leave the words alone.
_WORD = (
    r"(?:think(?:ing)?|thoughts?|reason(?:ing)?(?:_content)?|analysis|reflection|scratch_?pad|inner_monologue"
    r"|chain_of_thought|cot|plan(?:ning)?|draft)"
)
_SAID = rf"(?:\w{{1,12}}:)?{_WORD}"
_OPEN = (
    rf"<{_SAID}>|\[{_SAID}\]|◁{_SAID}▷|<\|(?:(?:begin|start)_(?:of_)?)?{_SAID}\|>"
    r"|<\|?channel\|?>\s*(?:analysis|commentary|thought)\b(?:\s*<\|message\|>)?|<unused94>\s*thought"
)
_CLOSE = (
    rf"</{_SAID}>|\[/{_SAID}\]|◁/{_SAID}▷|<\|?/{_SAID}\|?>|<\|end_(?:of_)?{_SAID}\|>"
    r"|(?:<\|end\|>\s*)?(?:<\|start\|>\s*assistant\s*)?<\|channel\|>\s*final\b\s*(?:<\|message\|>)?"
    r"|<channel\|>|<unused95>|assistantfinal|\[BEGIN FINAL RESPONSE\]"
)
_BLOCK = re.compile(
    rf"^[ \t]*(?:<details>\s*<summary>[^<\n]{{0,40}}?\b{_WORD}\b[^<\n]{{0,40}}</summary>"
    rf"(?:[^<]|<(?!/?details>))*+</details>|(`{{3,}}){_WORD}[ \t]*\n.*?^\1)",
    re.DOTALL | re.IGNORECASE | re.MULTILINE,
)
# A look at the first character saves trying every form at each: an answer without a tag takes a third of the time.
_TAG = re.compile(rf"(?=[<\[◁a])(?:{_CLOSE})", re.IGNORECASE)

_OPENED = re.compile(rf"\s*(?:{_OPEN})", re.IGNORECASE)

# A line that begins like a row or like JSON is part of the answer, and a tag in it is quoted text.
_STEP = re.compile(
    rf"(?P<open>{_OPEN})|(?P<close>{_CLOSE})|(?P<line>\n)|(?P<answer>^(?:[ \t]*+[{{}}\[\]\"]|{ROW_START}))",
    re.IGNORECASE | re.MULTILINE,
)


def without_thinking(answer: str) -> str:
    """Remove reasoning: between two tags of any kind, and all text before a closing tag without an opening tag; blocks.

    Rows must be marked (see `delimiters.mark`). A tag inside a row or inside JSON is quoted text and stays; so does
    an opening tag that is never closed.
    """
    answer = _BLOCK.sub("", answer)
    if not _TAG.search(answer):
        return answer
    kept: list[str] = []
    start, opened, in_answer = 0, None, False
    for step in _STEP.finditer(answer):
        kind = step.lastgroup
        if opened is not None:
            if kind == "close":
                kept.append(answer[start:opened])
                start, opened = step.end(), None
        elif kind == "line":
            in_answer = False
        elif kind == "answer":
            in_answer = True
        elif not in_answer and kind == "open":
            opened = step.start()
        elif not in_answer and kind == "close":
            kept.clear()
            start = step.end()
    return "".join(kept) + answer[start:]


def spoken(text: str, *, cut: bool) -> str:
    """Return an answer in prose without its reasoning; nothing, if it was `cut` off while it reasoned."""
    answer = without_thinking(text)
    return "" if cut and _OPENED.match(answer) else answer


def read_object(text: str) -> dict[str, Any]:
    """Return the first JSON object of a model's answer, without its thoughts; raises ValueError if there is none.

    One that is closed and not valid, as in single quotes, is repaired.
    """
    answer = without_thinking(text)
    start = answer.index("{")
    try:
        found, _ = json.JSONDecoder().raw_decode(answer[start:])
    except (ValueError, RecursionError):
        found = repaired(answer[start : answer.rfind("}") + 1])
    if not isinstance(found, dict):
        raise ValueError("the object cannot be read")
    return found
