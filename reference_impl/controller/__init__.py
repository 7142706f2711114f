"""The controller: broker registration, leader elections and topics."""
