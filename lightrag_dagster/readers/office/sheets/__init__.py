"""Spreadsheets: their cells as they are shown, and the tables among them."""
