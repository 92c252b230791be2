"""Field delimiters and completion markers, in every damaged form that models write them.

The rows of an answer look like `entity<|#|>name<|#|>type<|#|>description`, and `<|COMPLETE|>` ends them. `mark` puts
one control character in the place of each, so that later steps need not know of the damage.
"""

import re

FIELD = "\x1f"
"""A field delimiter in marked text."""

END = "\x1e"
"""A completion marker in marked text."""

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
        | \ ?[>}\])＞〉]+(?=\ ?[^\W\d])
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
    | \x1f\s*COMPLETED?[|>]*\s*\x1f?\s*\Z               # only set off by a delimiter, at the very end
    | <\\?\|\ ?(?i:c(?:o(?:m(?:p(?:l(?:et?)?)?)?)?)?)\s*\Z  # cut in half, at the very end
    """,
    re.VERBOSE,
)
_CUT_DELIMITER = re.compile(r"<\|?#?\s*\Z")
_SUSPECT = re.compile(r"[<|]|\x1f\ ?[>}\])＞〉]")
_WIDE_OR_ESCAPED = re.compile(r"(?:[<＜]|&lt;)[|｜](?P<core>[#＃]|completed?)[|｜](?:[>＞]|&gt;)", re.IGNORECASE)

_NOTHING_OR_ROW_FOLLOWS = re.compile(r"(?:[^\w\n]|[\d_])*+(?:\n|\Z|entit(?:y|ies)|relation)", re.IGNORECASE)
_OPENING_QUOTES = tuple("\"'`“‘「『")
_CLOSING_QUOTES = tuple("\"'`”’」』")
_FIRST_CJK = "\u2e80"
_SENTENCE_ENDS = tuple(".!?:;…。！？)]*|>\x1f") + _CLOSING_QUOTES


def mark(answer: str) -> str:
    """Return the answer with FIELD and END for delimiters and markers, and line feeds for every kind of line break.

    A completion marker that a description quotes stays as it is. Delimiters with text inside (`<|name|>`, `<|#name`)
    are not repaired: where the field begins would be a guess.
    """
    lines = answer.replace("\r\n", "\n").replace("\r", "\n")
    if FIELD in lines or END in lines:
        lines = lines.replace(FIELD, "").replace(END, "")
    if "&lt;|" in lines or "｜" in lines or "＜" in lines:
        lines = _WIDE_OR_ESCAPED.sub(lambda found: f"<|{found['core'].replace('＃', '#')}|>", lines)
    lines = lines.replace("<|#|COMPLETE", "<|COMPLETE").replace("<|#|>", FIELD)
    lines = _END.sub(lambda found: found[0] if _is_quoted(found) else END, lines)
    lines = _CUT_DELIMITER.sub("", lines)
    return _FIELD.sub(FIELD, lines) if _SUSPECT.search(lines) else lines


def _is_quoted(marker: re.Match[str]) -> bool:
    """Tell whether a marker is in the middle of a sentence, not at the end of a row or of the answer."""
    text, start, end = marker.string, marker.start(), marker.end()
    before = text[max(0, start - 16) : start].rpartition("\n")[2]
    words = before.strip(" \t*-" + "".join(_OPENING_QUOTES))
    if not words:
        return False
    if before.endswith(_OPENING_QUOTES) and text.startswith(_CLOSING_QUOTES, end):
        return True
    if _NOTHING_OR_ROW_FOLLOWS.match(text, end):
        return False
    in_sentence = before.endswith((" ", *_OPENING_QUOTES)) or before[-1] >= _FIRST_CJK  # which puts no spaces
    return in_sentence and not before.rstrip(" ").endswith(_SENTENCE_ENDS)
