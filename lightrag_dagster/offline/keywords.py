"""The keywords of a question: its names, and its other content words."""

from typing import NamedTuple

from lightrag_dagster.core.text.terms import terms
from lightrag_dagster.offline.mentions import find_in_question
from lightrag_dagster.offline.prose import plain
from lightrag_dagster.offline.words import words


class QuestionWords(NamedTuple):
    """Phrases of content words, and names; either may be empty."""

    high: list[str]
    low: list[str]


def find_keywords(question: str) -> QuestionWords:
    """Return the phrases of content words in a question as high-level keywords, and its names as low-level ones."""
    text = plain(question)
    tokens, mentions = find_in_question(text)
    named = {index for mention in mentions for index in range(mention.first, mention.after)}
    phrases: list[list[str]] = [[]]
    for index, token in enumerate(tokens):
        asks = index == 0 and token.text.casefold() in words("imperatives")
        if index in named or asks or not any(terms(token.text)):
            phrases.append([])
        else:
            phrases[-1].append(token.text)
    high = list(dict.fromkeys(" ".join(phrase) for phrase in phrases if phrase))
    if not tokens and any(terms(text)):
        high = [text]  # a script without spaces, and no text that looks like a name
    return QuestionWords(high, list(dict.fromkeys(mention.name for mention in mentions)))
