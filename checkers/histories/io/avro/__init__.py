"""Reads Avro: schemas, container files, and the rows of a history in them."""
