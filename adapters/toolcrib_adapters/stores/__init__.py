"""Where the catalogue is kept: one package a technology."""
