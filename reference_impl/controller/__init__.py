"""The controller: broker registration and fencing, leader elections, and topics."""
