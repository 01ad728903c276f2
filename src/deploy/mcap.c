#include "deploy/mcap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

enum { /* kinds of records */
       OP_HEADER = 1,
       OP_FOOTER,
       OP_SCHEMA,
       OP_CHANNEL,
       OP_MESSAGE,
       OP_CHUNK,
       OP_MESSAGE_INDEX,
       OP_CHUNK_INDEX,
       OP_STATISTICS = 11,
       OP_NOTES,
       OP_DATA_END = 15,
};

static const char MAGIC[8] = {'\x89', 'M', 'C', 'A', 'P', '0', '\r', '\n'};
static const char CDR[4] = {0, 1, 0, 0}; /* little-endian, plain */

typedef struct {
    text index; /* (time, offset) of the messages in the chunk that is open */
    uint64_t messages;
    uint32_t sequence;
} channel;

struct mcap {
    FILE *file;
    char path[512];
    uint64_t at; /* bytes written */
    bool failed;
    int nchannels;
    channel channels[MCAP_CHANNELS];
    text declared;                                 /* schemas and channels, for the summary */
    text chunk;                                    /* records of the chunk that is open */
    text chunk_indexes;                            /* for the summary */
    text record;                                   /* scratch */
    uint64_t first, last, chunk_first, chunk_last; /* times */
    uint64_t messages;
    uint32_t chunks, notes;
};

/* ---- Bytes ---- */

static void put(text *t, const void *data, size_t size)
{
    if (size) text_bytes(t, data, size);
}

static void put16(text *t, uint16_t x)
{
    put(t, &x, 2);
}

static void put32(text *t, uint32_t x)
{
    put(t, &x, 4);
}

static void put64(text *t, uint64_t x)
{
    put(t, &x, 8);
}

static void put_string(text *t, const char *s)
{
    put32(t, (uint32_t)strlen(s));
    put(t, s, strlen(s));
}

/* One record into another text. */
static void put_record(text *t, int op, const text *content)
{
    unsigned char kind = (unsigned char)op;
    put(t, &kind, 1);
    put64(t, content->size);
    put(t, content->data, content->size);
}

static void write_bytes(mcap *m, const void *data, size_t size)
{
    if (size && fwrite(data, 1, size, m->file) != size) m->failed = true;
    m->at += size;
}

static void write_record(mcap *m, int op, text *content)
{
    unsigned char kind = (unsigned char)op;
    uint64_t size = content->size;
    write_bytes(m, &kind, 1);
    write_bytes(m, &size, 8);
    write_bytes(m, content->data, content->size);
    m->failed |= content->failed;
    content->size = 0;
}

/* ---- Write ---- */

hrc_status mcap_create(mcap **out, const char *path, hrc_error *err)
{
    mcap *m = calloc(1, sizeof *m);
    if (!m) return fail(err, HRC_ENOMEM, "%s: out of memory", path);
    snprintf(m->path, sizeof m->path, "%s", path);
    m->file = fopen(path, "wb");
    if (!m->file) {
        free(m);
        return fail(err, HRC_EFILE, "%s: cannot be written: %s", path, strerror(errno));
    }
    write_bytes(m, MAGIC, sizeof MAGIC);
    put_string(&m->record, "ros2");
    put_string(&m->record, "heracles " HRC_VERSION);
    write_record(m, OP_HEADER, &m->record);
    *out = m;
    return HRC_OK;
}

int mcap_channel(mcap *m, const char *topic, const char *type, const char *fields)
{
    if (m->nchannels == MCAP_CHANNELS) return -1;
    const uint16_t id = (uint16_t)m->nchannels, schema = (uint16_t)(id + 1); /* schema 0 means none */
    text r = {0};
    put16(&r, schema);
    put_string(&r, type);
    put_string(&r, "ros2msg");
    put_string(&r, fields);
    put_record(&m->declared, OP_SCHEMA, &r);
    write_record(m, OP_SCHEMA, &r);
    put16(&r, id);
    put16(&r, schema);
    put_string(&r, topic);
    put_string(&r, "cdr");
    put32(&r, 0);
    put_record(&m->declared, OP_CHANNEL, &r);
    write_record(m, OP_CHANNEL, &r);
    text_free(&r);
    return m->nchannels++;
}

void mcap_notes(mcap *m, const char *name, const mcap_note *notes, int n)
{
    text map = {0};
    for (int i = 0; i < n; i++) {
        put_string(&map, notes[i].key);
        put_string(&map, notes[i].value);
    }
    mcap_flush(m);
    put_string(&m->record, name);
    put32(&m->record, (uint32_t)map.size);
    put(&m->record, map.data, map.size);
    write_record(m, OP_NOTES, &m->record);
    text_free(&map);
    m->notes++;
    if (fflush(m->file)) m->failed = true;
}

void mcap_add(mcap *m, int which, uint64_t ns, const void *data, size_t size)
{
    if (which < 0 || which >= m->nchannels) return;
    channel *c = &m->channels[which];
    unsigned char kind = OP_MESSAGE;
    put64(&c->index, ns);
    put64(&c->index, m->chunk.size);
    if (!m->chunk.size || ns < m->chunk_first) m->chunk_first = ns;
    if (!m->chunk.size || ns > m->chunk_last) m->chunk_last = ns;
    if (!m->messages || ns < m->first) m->first = ns;
    if (!m->messages || ns > m->last) m->last = ns;
    put(&m->chunk, &kind, 1);
    put64(&m->chunk, 2 + 4 + 8 + 8 + sizeof CDR + size);
    put16(&m->chunk, (uint16_t)which);
    put32(&m->chunk, c->sequence++);
    put64(&m->chunk, ns);
    put64(&m->chunk, ns);
    put(&m->chunk, CDR, sizeof CDR);
    put(&m->chunk, data, size);
    c->messages++, m->messages++;
}

/* The messages' places in the chunk that was just written; says where each channel's stand. */
static void write_message_indexes(mcap *m, text *offsets)
{
    for (int i = 0; i < m->nchannels; i++) {
        text *index = &m->channels[i].index;
        if (!index->size) continue;
        put16(offsets, (uint16_t)i);
        put64(offsets, m->at);
        put16(&m->record, (uint16_t)i);
        put32(&m->record, (uint32_t)index->size);
        put(&m->record, index->data, index->size);
        write_record(m, OP_MESSAGE_INDEX, &m->record);
        index->size = 0;
    }
}

static void note_chunk(mcap *m, uint64_t start, uint64_t size, const text *offsets, uint64_t indexes)
{
    text r = {0};
    put64(&r, m->chunk_first);
    put64(&r, m->chunk_last);
    put64(&r, start);
    put64(&r, indexes - start);
    put32(&r, (uint32_t)offsets->size);
    put(&r, offsets->data, offsets->size);
    put64(&r, m->at - indexes);
    put_string(&r, ""); /* compression: none */
    put64(&r, size);
    put64(&r, size);
    put_record(&m->chunk_indexes, OP_CHUNK_INDEX, &r);
    text_free(&r);
}

void mcap_flush(mcap *m)
{
    const uint64_t start = m->at, size = m->chunk.size;
    if (!size) return;
    put64(&m->record, m->chunk_first);
    put64(&m->record, m->chunk_last);
    put64(&m->record, size);
    put32(&m->record, 0); /* no check sum */
    put_string(&m->record, "");
    put64(&m->record, size);
    put(&m->record, m->chunk.data, size);
    write_record(m, OP_CHUNK, &m->record);
    const uint64_t indexes = m->at;
    text offsets = {0};
    write_message_indexes(m, &offsets);
    note_chunk(m, start, size, &offsets, indexes);
    text_free(&offsets);
    m->failed |= m->chunk.failed;
    m->chunk.size = 0;
    m->chunks++;
    if (fflush(m->file)) m->failed = true;
}

static void write_summary(mcap *m)
{
    put32(&m->record, 0);
    write_record(m, OP_DATA_END, &m->record);
    const uint64_t start = m->at;
    write_bytes(m, m->declared.data, m->declared.size);
    put64(&m->record, m->messages);
    put16(&m->record, (uint16_t)m->nchannels);
    put32(&m->record, (uint32_t)m->nchannels);
    put32(&m->record, 0); /* attachments */
    put32(&m->record, m->notes);
    put32(&m->record, m->chunks);
    put64(&m->record, m->first);
    put64(&m->record, m->last);
    put32(&m->record, (uint32_t)(10 * m->nchannels));
    for (int i = 0; i < m->nchannels; i++)
        put16(&m->record, (uint16_t)i), put64(&m->record, m->channels[i].messages);
    write_record(m, OP_STATISTICS, &m->record);
    write_bytes(m, m->chunk_indexes.data, m->chunk_indexes.size);
    put64(&m->record, start);
    put64(&m->record, 0); /* no summary offsets */
    put32(&m->record, 0);
    write_record(m, OP_FOOTER, &m->record);
    write_bytes(m, MAGIC, sizeof MAGIC);
}

/* On the disk, where the file is one that has a disk. */
static bool settle(FILE *file)
{
    return fflush(file) == 0 && (fsync(fileno(file)) == 0 || errno == EINVAL || errno == EROFS);
}

hrc_status mcap_close(mcap *m, hrc_error *err)
{
    hrc_status status = HRC_OK;
    mcap_flush(m);
    write_summary(m);
    bool settled = settle(m->file), failed = (fclose(m->file) != 0) | m->failed | !settled;
    if (failed) status = fail(err, HRC_EFILE, "%s: was not written whole: %s", m->path, strerror(errno));
    for (int i = 0; i < m->nchannels; i++) text_free(&m->channels[i].index);
    text_free(&m->declared);
    text_free(&m->chunk);
    text_free(&m->chunk_indexes);
    text_free(&m->record);
    free(m);
    return status;
}

/* ---- Read ---- */

/* What is left of some bytes; a read beyond the end gives zeros and sets `over`. */
typedef struct {
    const char *at;
    size_t left;
    bool over;
} cursor;

static const char *take(cursor *c, size_t n)
{
    static const char NOTHING[8];
    if (n > c->left) {
        c->over = true;
        c->left = 0;
        return NOTHING;
    }
    const char *p = c->at;
    c->at += n, c->left -= n;
    return p;
}

static uint64_t take_number(cursor *c, size_t bytes)
{
    uint64_t x = 0;
    memcpy(&x, take(c, bytes), bytes);
    return c->over ? 0 : x;
}

/* A text with its length before it. */
static cursor take_string(cursor *c)
{
    size_t n = (size_t)take_number(c, 4);
    if (n > c->left) {
        c->over = true;
        return (cursor){.over = true};
    }
    return (cursor){.at = take(c, n), .left = n};
}

typedef struct {
    const mcap_reader *reader;
    const char *path;
    cursor topic[MCAP_CHANNELS];
} reading;

static hrc_status bad(const reading *r, const char *what, hrc_error *err)
{
    return fail(err, HRC_EFORMAT, "%s: %s is damaged", r->path, what);
}

static hrc_status read_channel(reading *r, cursor c, hrc_error *err)
{
    uint64_t id = take_number(&c, 2);
    take_number(&c, 2);
    cursor topic = take_string(&c);
    if (c.over) return bad(r, "a channel", err);
    if (id >= MCAP_CHANNELS)
        return fail(err, HRC_EFORMAT, "%s: channel %d, expected at most %d", r->path, (int)id,
                    MCAP_CHANNELS - 1);
    r->topic[id] = topic;
    return HRC_OK;
}

static hrc_status read_message(const reading *r, cursor c, hrc_error *err)
{
    uint64_t id = take_number(&c, 2);
    take_number(&c, 4);
    mcap_message m = {.ns = take_number(&c, 8)};
    take_number(&c, 8);
    take(&c, sizeof CDR);
    if (c.over || id >= MCAP_CHANNELS || !r->topic[id].at) return bad(r, "a message", err);
    m.topic = r->topic[id].at, m.topic_size = r->topic[id].left;
    m.data = c.at, m.size = c.left;
    return r->reader->message ? r->reader->message(r->reader->ctx, &m, err) : HRC_OK;
}

static hrc_status read_notes(const reading *r, cursor c, hrc_error *err)
{
    take_string(&c);
    cursor map = take_string(&c);
    if (c.over) return bad(r, "a note", err);
    while (map.left) {
        cursor key = take_string(&map), value = take_string(&map);
        if (map.over) return bad(r, "a note", err);
        if (r->reader->note)
            TRY(r->reader->note(r->reader->ctx, key.at, key.left, value.at, value.left, err));
    }
    return HRC_OK;
}

static hrc_status read_records(reading *r, cursor c, bool inside, bool *cut, hrc_error *err);

static hrc_status read_chunk(reading *r, cursor c, hrc_error *err)
{
    bool cut = false;
    take(&c, 8), take(&c, 8), take(&c, 8), take(&c, 4);
    cursor compression = take_string(&c);
    uint64_t size = take_number(&c, 8);
    if (c.over || size != c.left) return bad(r, "a chunk", err);
    if (compression.left)
        return fail(err, HRC_EFORMAT, "%s: chunks compressed with %.*s, expected none", r->path,
                    (int)compression.left, compression.at);
    TRY(read_records(r, c, true, &cut, err));
    return cut ? bad(r, "a chunk", err) : HRC_OK;
}

/* Up to the end of the data, or to where the file was cut. */
static hrc_status read_records(reading *r, cursor c, bool inside, bool *cut, hrc_error *err)
{
    while (c.left) {
        int op = (int)take_number(&c, 1);
        uint64_t size = take_number(&c, 8);
        if (c.over || size > c.left) {
            *cut = true;
            return HRC_OK;
        }
        cursor content = {.at = take(&c, (size_t)size), .left = (size_t)size};
        if (op == OP_DATA_END) return HRC_OK;
        if (op == OP_CHANNEL) TRY(read_channel(r, content, err));
        if (op == OP_MESSAGE) TRY(read_message(r, content, err));
        if (op == OP_NOTES) TRY(read_notes(r, content, err));
        if (op == OP_CHUNK && !inside) TRY(read_chunk(r, content, err));
    }
    *cut = !inside;
    return HRC_OK;
}

static bool begins_right(file_view bytes)
{
    return bytes.size >= sizeof MAGIC && !memcmp(bytes.data, MAGIC, sizeof MAGIC);
}

bool mcap_is_file(const char *path)
{
    file_view bytes;
    if (file_map(path, &bytes, NULL) < 0) return false;
    const bool yes = begins_right(bytes);
    file_unmap(&bytes);
    return yes;
}

hrc_status mcap_read(const char *path, file_view bytes, const mcap_reader *reader, bool *cut, hrc_error *err)
{
    reading r = {.reader = reader, .path = path};
    *cut = false;
    if (!begins_right(bytes))
        return fail(err, HRC_EFORMAT, "%s: is not an MCAP file: its first bytes are not those of one", path);
    return read_records(&r, (cursor){.at = bytes.data + sizeof MAGIC, .left = bytes.size - sizeof MAGIC},
                        false, cut, err);
}
