"""How well the modes find what answers a set of questions, measured on the published snapshot."""
