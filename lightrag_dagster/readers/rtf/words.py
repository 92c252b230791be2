"""Control words of Rich Text, by their meaning to the reader."""

CHARSETS = {
    128: "cp932",
    129: "cp949",
    134: "gb18030",
    136: "cp950",
    161: "cp1253",
    162: "cp1254",
    163: "cp1258",
    177: "cp1255",
    178: "cp1256",
    186: "cp1257",
    204: "cp1251",
    222: "cp874",
    238: "cp1250",
}
"""The code page of each value of `\\fcharset` that has one of its own."""

SIGNS = {
    "tab": "\t",
    "line": "\n",
    "emdash": "—",
    "endash": "–",
    "lquote": "‘",
    "rquote": "’",
    "ldblquote": "“",
    "rdblquote": "”",
    "bullet": "•",
    "~": " ",
    "_": "-",
    "\\": "\\",
    "{": "{",
    "}": "}",
}
"""The text of control words and symbols."""

NOT_TEXT = {"colortbl", "pict", "object", "header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr"}
NOT_TEXT |= {"footerf", "xe", "tc", "fldinst", "datafield", "filetbl", "revtbl", "listtable", "listoverridetable"}

OPTIONAL = dict.fromkeys(("shptxt", "shpinst", "shppict", "listtext"), "text") | {"picprop": "picprop"}
"""Destinations that old readers skip and this one does not, with the destination of their text."""

INFO = {"title", "author", "keywords"}
"""Destinations that are properties of the document."""
