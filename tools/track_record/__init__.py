"""Explores every buggy or old variant of the specs, and records the verdict on its claim."""
