"""Readers of office files: Word, PowerPoint, Excel and OpenDocument."""
