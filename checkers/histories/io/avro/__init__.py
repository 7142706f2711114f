"""Avro: schemas, container files, and histories in them."""
