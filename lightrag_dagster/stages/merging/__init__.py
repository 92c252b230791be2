"""Mentions into entities and relations, in any order with the same result."""
