"""Text: its tokens, terms and structure, and making it safe to keep and to show."""
