"""The merge of mentions into entities and relations, independent of their order."""
