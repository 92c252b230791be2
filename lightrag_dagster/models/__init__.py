"""OpenAI-compatible and offline models, their limits and the stores that cache their answers."""
