/* Reads the records of a batch, as the function `_facts` of validation.py does.

   It reads the lengths and counts of each record, and skips the contents of keys, values and headers.
   No byte outside of the records is read, whatever the lengths say: every byte is taken by `byte_at`.

   Source: Kafka documentation, "Message Format". */

#include <stdint.h>

struct facts {
    int64_t max_timestamp_ms; /* if there is a record */
    int32_t lacks_keys;
    int32_t is_in_sequence;
};

struct reader {
    const uint8_t *records;
    int64_t size;
    int64_t at; /* never negative: it grows by at most 2**31 at a time */
    int is_malformed;
};

static uint8_t byte_at(struct reader *reader)
{
    if (reader->at >= reader->size) {
        reader->is_malformed = 1;
        return 0;
    }
    return reader->records[reader->at++];
}

static uint64_t varint(struct reader *reader, int most_bytes)
{
    uint64_t number = 0;
    for (int place = 0; place < most_bytes; place++) {
        uint8_t byte = byte_at(reader);
        number |= (uint64_t)(byte & 0x7f) << (7 * place);
        if (byte < 0x80)
            return number;
    }
    reader->is_malformed = 1;
    return 0;
}

static int32_t signed32(struct reader *reader)
{
    uint32_t number = (uint32_t)varint(reader, 5);
    return (int32_t)((number >> 1) ^ (0 - (number & 1)));
}

static int64_t signed64(struct reader *reader)
{
    uint64_t number = varint(reader, 10);
    return (int64_t)((number >> 1) ^ (0 - (number & 1)));
}

static int32_t skip_bytes(struct reader *reader)
{
    int32_t length = signed32(reader);
    reader->at += length > 0 ? length : 0;
    return length;
}

static void skip_headers(struct reader *reader)
{
    int32_t count = signed32(reader);
    if (count < 0)
        reader->is_malformed = 1;
    for (int32_t header = 0; header < count && !reader->is_malformed; header++) {
        if (skip_bytes(reader) < 0)
            reader->is_malformed = 1; /* a header has a name */
        skip_bytes(reader);
    }
}

/* Returns 1 and sets the facts, or returns 0 if the records are malformed. */
int32_t scan_records(const uint8_t *records, int64_t size, int64_t count, int64_t base_ms,
                     struct facts *facts)
{
    struct reader reader = {records, size, 0, 0};
    facts->max_timestamp_ms = INT64_MIN;
    facts->lacks_keys = 0;
    facts->is_in_sequence = 1;
    for (int64_t number = 0; number < count; number++) {
        int32_t length = signed32(&reader);
        int64_t end = reader.at + length;
        if (length < 0 || end > size)
            return 0;
        byte_at(&reader); /* the attributes */
        int64_t time_ms = (int64_t)((uint64_t)base_ms + (uint64_t)signed64(&reader));
        int32_t offset_delta = signed32(&reader);
        int32_t key_length = skip_bytes(&reader);
        skip_bytes(&reader); /* the value */
        skip_headers(&reader);
        if (reader.is_malformed || reader.at != end)
            return 0;
        if (time_ms > facts->max_timestamp_ms)
            facts->max_timestamp_ms = time_ms;
        facts->lacks_keys |= key_length < 0;
        facts->is_in_sequence &= offset_delta == number;
    }
    return reader.at == size;
}
