"""OpenDocument texts: their styles, the numbers of their lists and headings, and their content as HTML."""
