"""The functions of the retrieval modes; their table is `query/mode.py`."""
