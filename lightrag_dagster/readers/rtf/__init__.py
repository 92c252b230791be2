"""The reader of RTF."""
