"""What Kafka should do: the spec language, the specs, the vocabulary, histories. Pure: no engine, no I/O."""
