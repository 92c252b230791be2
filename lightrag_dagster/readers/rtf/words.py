"""Control words of Rich Text, by their meaning to the reader."""

CHARSETS = {
    77: "mac_roman",
    78: "shift_jis",
    128: "cp932",
    129: "cp949",
    130: "johab",
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
    254: "cp437",
    255: "cp437",
}
"""The code page of each value of `\\fcharset` that has one of its own."""

CODE_PAGES = {
    10_000: "mac_roman",
    10_001: "shift_jis",
    10_006: "mac_greek",
    10_007: "mac_cyrillic",
    10_029: "mac_latin2",
    10_081: "mac_turkish",
    65_001: "utf-8",
}
"""The encoding of each code page whose number Python does not know."""

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
    "emspace": " ",
    "enspace": " ",
    "qmspace": " ",
    "~": " ",
    "_": "-",
    "\\": "\\",
    "{": "{",
    "}": "}",
}
"""The text of control words and symbols."""

NOT_TEXT = {
    "colortbl",
    "pict",
    "objdata",
    "objclass",
    "objname",
    "objalias",
    "objsect",
    "header",
    "headerl",
    "headerr",
    "headerf",
    "footer",
    "footerl",
    "footerr",
}
NOT_TEXT |= {"footerf", "xe", "tc", "datafield", "filetbl", "revtbl", "listtable", "listoverridetable"}
NOT_TEXT |= {"nonesttables", "shprslt", "ftnsep", "ftnsepc", "aftnsep", "aftnsepc"}

MARKERS = {"listtext", "pntext"}
"""Destinations that hold the bullet or number of an item of a list."""

ENDS = ("par", "sect", "page", "column", "\n", "\r")
"""Control words that end a paragraph; TextEdit writes a backslash before the end of a line."""

INSIDE_A_LINE = {*ENDS, "cell", "nestcell", "row", "trowd", "intbl", "line", "tab"}
"""Control words that end or divide a paragraph, which a note and hidden text have none of their own for."""

OPTIONAL = (
    dict.fromkeys(("shptxt", "shpinst", "shppict"), "text")
    | dict.fromkeys(MARKERS, "marker")
    | {"picprop": "picprop", "annotation": "annotation", "fldinst": "field", "formfield": "formfield"}
)
"""Destinations that old readers skip and this one does not, with the destination of their text."""

FIELD = {"fftype", "ffres", "ffdefres"}
"""The kind, the state and the first state of a field of a form."""

INFO = {"title", "author", "keywords"}
"""Destinations that are properties of the document."""
