"""Pure functions over Arrow tables, one package a stage."""
