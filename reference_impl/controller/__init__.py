"""Broker registration and fencing, leader elections, and topics."""
