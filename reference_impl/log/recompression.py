"""Rebuilds a received record batch, if the leader must append it with another codec or with other
offset deltas.

Each row of the table is a value of the topic's `compression.type`. Each column has a codec and the
offset deltas of the received batch.

    compression.type   from no compression   from zstd, deltas 0, 1, 2   from zstd, other deltas
    producer           as it is              as it is                    rebuilt with zstd
    uncompressed       as it is              rebuilt, no compression     rebuilt, no compression
    zstd               rebuilt with zstd     as it is                    rebuilt with zstd
    gzip               rebuilt with gzip     rebuilt with gzip           rebuilt with gzip

A rebuilt batch has the offset deltas 0, 1, 2 and so on. The offset deltas of other batches do not
change.

Source: KIP-390; LogValidator.assignOffsetsNonCompressed, validateMessagesAndAssignOffsetsCompressed
and buildRecordsAndAssignOffsets.
"""

from __future__ import annotations

from reference_impl.log.compression import COMPRESSIONS, Compression, compress, decompress
from reference_impl.log.record import read_record
from reference_impl.log.record_batch import HEADER_SIZE, Header, encode, records_in, with_records
from reference_impl.protocol.record_facts import RecordFacts
from reference_impl.protocol.topic_config import CompressionType, LogConfig


def is_rebuilt(head: Header, facts: RecordFacts, config: LogConfig) -> bool:
    target = target_compression(head.compression, config)
    is_plain = head.compression == target == "none"
    return not is_plain and not (head.compression == target and facts.is_in_sequence)


def rebuilt(batch: bytes, head: Header, facts: RecordFacts, config: LogConfig) -> bytes:
    """Returns the record batch in the topic's codec, with the offset deltas 0, 1, 2 and so on."""
    target = target_compression(head.compression, config)
    level = level_of(target, config)
    if facts.is_in_sequence and head.has_plain_attributes:
        body = decompress(head.compression, batch[HEADER_SIZE:])
        _, first, _ = read_record(body, 0, head.base_timestamp_ms)
        if first.timestamp_ms == head.base_timestamp_ms:
            # The records stay the same bytes, so they need not be decoded.
            return with_records(head, compress(target, body, level), target)
    return encode(
        [record for _, record in records_in(batch, head)],
        producer_id=head.producer_id,
        producer_epoch=head.producer_epoch,
        base_sequence=head.base_sequence,
        compression=target,
        level=level,
        transactional=head.is_transactional,
    )


def target_compression(producers: Compression, config: LogConfig) -> Compression:
    """Returns the codec in which the leader appends a record batch. `producers` is the codec of the
    producer's batch.
    """
    if config.compression_type is CompressionType.PRODUCER:
        return producers
    if config.compression_type is CompressionType.UNCOMPRESSED:
        return "none"
    return COMPRESSIONS[COMPRESSIONS.index(config.compression_type.value)]


def level_of(codec: Compression, config: LogConfig) -> int | None:
    """Returns the compression level that the topic sets for `codec`. If the topic's
    `compression.type` is another codec, returns None, which stands for the default level.

    Kafka: LogConfig.getCompression.
    """
    if config.compression_type.value != codec:
        return None
    levels = {"gzip": config.gzip_level, "lz4": config.lz4_level, "zstd": config.zstd_level}
    return levels.get(codec)
