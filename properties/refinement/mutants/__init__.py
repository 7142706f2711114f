"""Altered runs that trace validation must reject."""
