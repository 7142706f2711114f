"""The control port of a cluster: tests inject faults and create topics by HTTP on loopback."""
