"""Pure functions over Arrow tables, one package per stage."""
