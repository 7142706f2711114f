"""Programs that generate tables, package data and documentation."""
