"""Field delimiters and completion markers, in every damaged form that models write.

The rows of an answer look like `entity<|#|>name<|#|>type<|#|>description`, and `<|COMPLETE|>` ends them. `mark` puts
one control character in the place of each, so that later steps need not handle the damage.
"""

import re

from lightrag_dagster.core.text.names import unescaped, visible

FIELD = "\x1f"
"""A field delimiter in marked text."""

END = "\x1e"
"""A completion marker in marked text."""

TAG = r"(?:entit(?:y|ies)|relation(?:ship)?s?)"
"""Pattern of the first word of a row; in any case."""

_FIELD = re.compile(
    r"""
    (?: \x1f                        # whole, put in place already
      | <\|\#\|*\#\|>               # core doubled: <|##|> <|#||#|>
      | <\\?\|[\\ ]?\#[\\ ]?\|\\?>  # escaped or spaced: <|\#|> <| # |>
      | <.?\|\#\|.?>                # a stray character outside the pipes: <X|#|> <|#|X> <||#||>
      | <\|*\#\|?>                  # pipes missing: <#> <#|> <|#> <||#>
      | <[^|\n]\#\|>                # a pipe replaced: <X#|>
      | <\|\#[^|\n]>                #                  <|#X>
      | <\|\#(?:\|+[>}\])＞〉]?|[:}\])＞]) # the end missing or replaced: <|#| <|#|| <|#: <|#|} <|#＞
      | \|\#\|>                     # the start missing: |#|>
      # core missing, glued on both sides: name<|>type; a spaced <|> is text
      | <(?<=[\S\x1f]<)\|+>(?=[\S\x1f])
      # core and end missing, glued: name<||type
      | <(?<=[\S\x1f]<)\|\|(?!>)
    ) (?: \|(?!\#)                  # and a pipe or bracket too many: <|#|>| <|#|>>name <|#|>}, but not >90%
        | \ ?[>}\])＞〉]+(?=\ ?[^\W\d]|\ ?["'&\[“‘《「])
    )?
  | <\x1f                           # or before it: <<|#|>
  | \|\|\#\|\|                      # pipes for brackets: ||#||
    """,
    re.VERBOSE,
)

_END = re.compile(
    r"""
      <\\?\|+\ ?(?i:completed?)\b(?:\ ?\\?\|*\\?>|\|*)  # <|COMPLETE|> <\|COMPLETE\|> <|COMPLETE>, no end: <|COMPLETE
    | <(?:(?i:completed?)\|+>?|COMPLETED?>)             # <COMPLETE|> <COMPLETE>, but <complete> is a tag
    | \|(?<!\|\|)\|*\ ?(?i:completed?)\ ?\|*>           # the start missing: |COMPLETE|>
    | \x1f[^\S\x1f]*COMPLETED?[|>]*\s*\Z                # only set off by a delimiter, at the very end
    | <\\?\|\ ?(?i:c(?:o(?:m(?:p(?:l(?:et?)?)?)?)?)?)\s*\Z  # cut in half, at the very end
    """,
    re.VERBOSE,
)
_CUT_DELIMITER = re.compile(r"<\|?#?[^\S\x1e]*\Z")
_CLOSER_AFTER_FIELD = re.compile(r"\x1f ?[>}\])＞〉]")
# Characters that some models use as line breaks. In an answer that begins no row after them they are part of a field.
_OTHER_BREAKS = "\r\x85\u2028\u2029"
_LEAD = r"[^\w\n]{0,8}+(?:[^\W_]{1,12}+(?:_|[^\w\n\v\f\x1c\x1d<|]){1,8}+){0,3}?"
_ROW = rf"{_LEAD}{TAG}[^\w\n]{{0,8}}?[<＜|｜&:：]"
_ROW_AFTER = {one: re.compile(one + _ROW, re.IGNORECASE) for one in _OTHER_BREAKS}
_CONTROL_BREAK = re.compile(rf"[\v\f\x1c\x1d](?={_ROW})", re.IGNORECASE)
_ROW_AFTER_ESCAPE = re.compile(rf"\\n{_ROW}", re.IGNORECASE)
_ESCAPED_BREAK = re.compile(rf"(?:\\r)?\\n(?:(?![a-z])|(?=(?i:{_ROW})))")

# Marks with full-width characters, or with HTML's references in place of their characters.
_LESS = r"(?:[<＜]|&(?:amp;)*(?:lt|#0*60|#x0*3c);)"
_CORE = r"(?:[|｜#＃]|&(?:amp;)*(?:vert|num|#0*(?:35|124)|#x0*(?:23|7c));|completed?)"
_GREATER = r"(?:[>＞]|&(?:amp;)*(?:gt|#0*62|#x0*3e);)"
_OTHERWISE_WRITTEN = re.compile(rf"{_LESS}{_CORE}{{1,5}}{_GREATER}?|{_CORE}{{2,5}}{_GREATER}", re.IGNORECASE)
_TO_ASCII = str.maketrans("＜｜＃＞", "<|#>")

_NOTHING_OR_ROW_FOLLOWS = re.compile(r"(?:[^\w\n]|[\d_])*+(?:\n|\Z|entit(?:y|ies)|relation)", re.IGNORECASE)
_OPENING_QUOTES = tuple("\"'`“‘「『")
_CLOSING_QUOTES = tuple("\"'`”’」』")
_FIRST_CJK = "\u2e80"
_SENTENCE_ENDS = tuple(".!?:;…。！？)]*|>\x1f") + _CLOSING_QUOTES


def mark(answer: str) -> str:
    """Return the answer with FIELD and END for delimiters and markers, line feeds between rows, and no invisible text.

    A completion marker that a description quotes stays as it is. Delimiters with text inside (`<|name|>`, `<|#name`)
    are not repaired: the beginning of the field would be a guess.
    """
    text = _with_line_feeds(answer)
    if not text.replace("\n", "").isprintable():
        text = visible(_CONTROL_BREAK.sub("\n", text))
    if "&" in text or "｜" in text or "＜" in text or "＃" in text:
        text = _OTHERWISE_WRITTEN.sub(lambda found: unescaped(found[0]).translate(_TO_ASCII), text)
    text = text.replace("<|#|COMPLETE", "<|COMPLETE").replace("<|#|>", FIELD)
    text = _END.sub(lambda found: found[0] if _is_quoted(found) else END, text)
    text = _CUT_DELIMITER.sub("", text)
    suspect = "<" in text or "|" in text or _CLOSER_AFTER_FIELD.search(text)
    return _FIELD.sub(FIELD, text) if suspect else text


def _with_line_feeds(answer: str) -> str:
    """Return the answer with line feeds for line breaks of every kind that it uses to begin rows."""
    text = answer.replace("\r\n", "\n")
    for one in _OTHER_BREAKS:
        if one in text and (text.endswith(one) or _ROW_AFTER[one].search(text)):
            text = text.replace(one, "\n")
    if "\\n" in text and _ROW_AFTER_ESCAPE.search(text):
        text = _ESCAPED_BREAK.sub("\n", text)
    return text


def _is_quoted(marker: re.Match[str]) -> bool:
    """Return True if a marker is in the middle of a sentence, not at the end of a row or of the answer."""
    text, start, end = marker.string, marker.start(), marker.end()
    before = text[max(0, start - 16) : start].rpartition("\n")[2]
    if not before.strip(" \t*-" + "".join(_OPENING_QUOTES)):
        return False
    if before.endswith(_OPENING_QUOTES) and text.startswith(_CLOSING_QUOTES, end):
        return True
    if _NOTHING_OR_ROW_FOLLOWS.match(text, end):
        return False
    in_sentence = before.endswith((" ", *_OPENING_QUOTES)) or before[-1] >= _FIRST_CJK  # which puts no spaces
    return in_sentence and not before.rstrip(" ").endswith(_SENTENCE_ENDS)
