"""A world whose facts are known: documents of prose made from tables, and a server that reads them."""
