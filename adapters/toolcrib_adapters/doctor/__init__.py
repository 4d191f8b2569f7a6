"""What is wrong with a crib, and how to mend it: one file a part of it, findings as values."""
