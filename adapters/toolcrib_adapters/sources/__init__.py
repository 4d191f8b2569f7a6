"""Where tools come from: one file or package a kind of source."""
