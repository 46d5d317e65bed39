"""The words of the interface in English: one module for each screen, one table of texts in each."""
