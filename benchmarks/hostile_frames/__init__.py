"""Hostile frames: valid requests of every API, the same requests with damaged bytes, and noise."""
