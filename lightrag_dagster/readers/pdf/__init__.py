"""Readers of PDF: text, columns, ruled tables; docling as another reader."""
