"""The language of tools: contracts, names, versions, schemas, results, errors.

Pure values, no I/O.
"""
