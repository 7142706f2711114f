"""What Kafka should do: language, specs, vocabulary, histories. Pure: no engine, no I/O."""
