"""Asking a published snapshot."""
