"""Steps of processes through logs."""
