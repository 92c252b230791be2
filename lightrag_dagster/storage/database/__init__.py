"""Databases of paid responses and vectors, over SQLAlchemy."""
