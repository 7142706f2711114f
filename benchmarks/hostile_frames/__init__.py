"""Hostile frames: real requests of every API, and the same requests with damaged bytes."""
