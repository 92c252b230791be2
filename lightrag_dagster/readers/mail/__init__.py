"""Readers of mail: messages, their pages, quotes and attachments."""
