"""The chunking of documents, with exact character spans."""
