"""The processes of one crib: how many may run, who started them, and that none is left behind."""
