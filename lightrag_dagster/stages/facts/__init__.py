"""The values of facts: dates, numbers and yes or no, read by rules from the words of a passage."""
