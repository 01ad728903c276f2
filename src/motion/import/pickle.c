#include "motion/import/pickle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "motion/import/pickle_array.h"

#define STEPS_MAX 4000000 /* opcodes: a thousand clips of whole arrays take some 100000 */
#define CHUNK 256         /* values that are allocated together */

/* ---- The machine ---- */

typedef struct {
    pickle_value **at;
    int n, room;
} pile;

typedef struct {
    const char *path;
    file_view bytes;
    size_t place; /* next byte */
    size_t op;    /* where the opcode under way stands */
    pile stack, memo;
    int *marks; /* heights of the stack */
    int nmarks, marks_room;
    arena *memory;
    pickle_value *spare; /* of the chunk, and how many are left */
    int left;
} machine;

static hrc_status out_of_memory(const machine *m, hrc_error *err)
{
    return fail(err, HRC_ENOMEM, "%s: out of memory for the pickle", m->path);
}

static hrc_status damaged(const machine *m, const char *why, hrc_error *err)
{
    return fail(err, HRC_EFORMAT, "%s: byte %zu: %s", m->path, m->op, why);
}

static bool pile_room(pile *p, int n)
{
    if (n <= p->room) return true;
    int room = p->room ? p->room : 64;
    while (room < n) room *= 2;
    pickle_value **at = realloc(p->at, (size_t)room * sizeof *at);
    if (!at) return false;
    for (int i = p->room; i < room; i++) at[i] = NULL;
    p->at = at;
    p->room = room;
    return true;
}

static pickle_value *fresh(machine *m, pickle_kind kind)
{
    if (m->left == 0) {
        m->spare = ARENA_NEW(m->memory, pickle_value, CHUNK);
        if (!m->spare) return NULL;
        m->left = CHUNK;
    }
    m->left--;
    pickle_value *v = m->spare++;
    v->kind = kind;
    return v;
}

static hrc_status push(machine *m, pickle_value *v, hrc_error *err)
{
    if (!v || !pile_room(&m->stack, m->stack.n + 1)) return out_of_memory(m, err);
    m->stack.at[m->stack.n++] = v;
    return HRC_OK;
}

/* Values above the last mark. */
static int above(const machine *m)
{
    return m->stack.n - (m->nmarks ? m->marks[m->nmarks - 1] : 0);
}

static hrc_status need(const machine *m, int n, hrc_error *err)
{
    return above(m) >= n ? HRC_OK : damaged(m, "takes more values than are there", err);
}

static hrc_status take_bytes(machine *m, size_t n, const char **out, hrc_error *err)
{
    if (n > m->bytes.size - m->place)
        return fail(err, HRC_EFORMAT, "%s: byte %zu: %zu bytes wanted, but %zu are left", m->path, m->op, n,
                    m->bytes.size - m->place);
    *out = m->bytes.data + m->place;
    m->place += n;
    return HRC_OK;
}

/* A little-endian number of n bytes. */
static hrc_status take_size(machine *m, int n, uint64_t *out, hrc_error *err)
{
    const char *at = NULL;
    TRY(take_bytes(m, (size_t)n, &at, err));
    *out = 0;
    for (int i = 0; i < n; i++) *out |= (uint64_t)(unsigned char)at[i] << 8 * i;
    return HRC_OK;
}

/* ---- Numbers and texts ---- */

static hrc_status push_int(machine *m, int64_t value, hrc_error *err)
{
    pickle_value *v = fresh(m, PICKLE_INT);
    if (v) v->integer = value;
    return push(m, v, err);
}

static hrc_status op_int(machine *m, int bytes, bool sign, hrc_error *err)
{
    uint64_t n = 0;
    TRY(take_size(m, bytes, &n, err));
    return push_int(m, sign ? (int64_t)(int32_t)(uint32_t)n : (int64_t)n, err);
}

/* A whole number of any length, two's complement; those of this program's files have at most 8 bytes. */
static hrc_status op_long(machine *m, hrc_error *err)
{
    uint64_t n = 0, value = 0;
    TRY(take_size(m, 1, &n, err));
    if (n > 8) return damaged(m, "LONG1 of more than 8 bytes", err);
    TRY(take_size(m, (int)n, &value, err));
    if (n > 0 && n < 8 && value >> (8 * n - 1)) value |= UINT64_MAX << 8 * n;
    return push_int(m, (int64_t)value, err);
}

static hrc_status op_float(machine *m, hrc_error *err)
{
    const char *at = NULL;
    TRY(take_bytes(m, 8, &at, err));
    uint64_t bits = 0; /* big-endian */
    for (int i = 0; i < 8; i++) bits = bits << 8 | (unsigned char)at[i];
    pickle_value *v = fresh(m, PICKLE_FLOAT);
    if (v) memcpy(&v->real, &bits, sizeof bits);
    return push(m, v, err);
}

static hrc_status op_string(machine *m, pickle_kind kind, int length_bytes, hrc_error *err)
{
    uint64_t n = 0;
    const char *at = NULL;
    TRY(take_size(m, length_bytes, &n, err));
    TRY(take_bytes(m, (size_t)n, &at, err));
    pickle_value *v = fresh(m, kind);
    if (v) v->data = at, v->size = (size_t)n;
    return push(m, v, err);
}

/* ---- Lists and dictionaries ---- */

static pickle_value *pop(machine *m)
{
    return m->stack.at[--m->stack.n];
}

/* n more entries, from the top of the stack. Room doubles, so that what the arena keeps is twice what is
 * used. */
static hrc_status extend(machine *m, pickle_value *list, int n, hrc_error *err)
{
    int room = 4;
    while (room < list->n) room *= 2;
    if (list->n + n > room || !list->items) {
        while (room < list->n + n) room *= 2;
        pickle_value **items = ARENA_NEW(m->memory, pickle_value *, room);
        if (!items) return out_of_memory(m, err);
        if (list->n) memcpy(items, list->items, (size_t)list->n * sizeof *items);
        list->items = items;
    }
    m->stack.n -= n;
    for (int i = 0; i < n; i++) list->items[list->n++] = m->stack.at[m->stack.n + i];
    return HRC_OK;
}

/* The top n values become a list. */
static hrc_status op_gather(machine *m, pickle_kind kind, int n, hrc_error *err)
{
    TRY(need(m, n, err));
    if (kind == PICKLE_DICT && n % 2) return damaged(m, "a dictionary with a key that has no value", err);
    pickle_value *v = fresh(m, kind);
    if (!v) return out_of_memory(m, err);
    if (n) TRY(extend(m, v, n, err));
    return push(m, v, err);
}

static hrc_status op_add(machine *m, pickle_kind kind, int n, hrc_error *err)
{
    TRY(need(m, n + 1, err));
    pickle_value *list = m->stack.at[m->stack.n - n - 1];
    if (list->kind != kind) return damaged(m, "adds to what is no list or dictionary", err);
    if (kind == PICKLE_DICT && n % 2) return damaged(m, "a key without its value", err);
    return n ? extend(m, list, n, err) : HRC_OK;
}

static hrc_status op_mark(machine *m, hrc_error *err)
{
    if (m->nmarks == m->marks_room) {
        int room = m->marks_room ? 2 * m->marks_room : 64;
        int *marks = realloc(m->marks, (size_t)room * sizeof *marks);
        if (!marks) return out_of_memory(m, err);
        m->marks = marks;
        m->marks_room = room;
    }
    m->marks[m->nmarks++] = m->stack.n;
    return HRC_OK;
}

/* How many values stand above the last mark, which goes. */
static hrc_status take_mark(machine *m, int *n, hrc_error *err)
{
    if (m->nmarks == 0) return damaged(m, "ends a group that was never begun", err);
    *n = above(m);
    m->nmarks--;
    return HRC_OK;
}

static hrc_status op_group(machine *m, char op, hrc_error *err)
{
    int n = 0;
    TRY(take_mark(m, &n, err));
    switch (op) {
    case 't':
    case 'l': return op_gather(m, PICKLE_LIST, n, err);
    case 'd': return op_gather(m, PICKLE_DICT, n, err);
    case 'e': return op_add(m, PICKLE_LIST, n, err);
    case 'u': return op_add(m, PICKLE_DICT, n, err);
    default: m->stack.n -= n; return HRC_OK;
    }
}

/* ---- The memo ---- */

static hrc_status op_put(machine *m, uint64_t slot, hrc_error *err)
{
    TRY(need(m, 1, err));
    if (slot > m->bytes.size || slot >= INT32_MAX / 2)
        return damaged(m, "keeps a value in a place beyond any that the file can have filled", err);
    if (!pile_room(&m->memo, (int)slot + 1)) return out_of_memory(m, err);
    m->memo.at[slot] = m->stack.at[m->stack.n - 1];
    if ((int)slot >= m->memo.n) m->memo.n = (int)slot + 1;
    return HRC_OK;
}

static hrc_status op_get(machine *m, int bytes, hrc_error *err)
{
    uint64_t slot = 0;
    TRY(take_size(m, bytes, &slot, err));
    if (slot >= (uint64_t)m->memo.n || !m->memo.at[slot])
        return damaged(m, "takes up a value that was never kept", err);
    return push(m, m->memo.at[slot], err);
}

/* ---- Functions and classes, which are never called ---- */

static hrc_status push_global(machine *m, file_view module, file_view name, hrc_error *err)
{
    pickle_value *v = fresh(m, PICKLE_GLOBAL);
    if (!v) return out_of_memory(m, err);
    v->integer = pickle_global_find(module, name);
    if (v->integer < 0)
        return fail(
            err, HRC_EFORMAT,
            "%s: byte %zu: asks for %.*s.%.*s; only NumPy's arrays are read from a pickle, nothing is executed",
            m->path, m->op, (int)(module.size < 60 ? module.size : 60), module.data,
            (int)(name.size < 60 ? name.size : 60), name.data);
    return push(m, v, err);
}

static hrc_status take_line(machine *m, file_view *line, hrc_error *err)
{
    const char *start = m->bytes.data + m->place;
    const char *newline = memchr(start, '\n', m->bytes.size - m->place);
    if (!newline) return damaged(m, "a name without an end", err);
    *line = (file_view){start, (size_t)(newline - start)};
    m->place += line->size + 1;
    return HRC_OK;
}

static hrc_status op_global(machine *m, hrc_error *err)
{
    file_view module = {0}, name = {0};
    TRY(take_line(m, &module, err));
    TRY(take_line(m, &name, err));
    return push_global(m, module, name, err);
}

static hrc_status op_stack_global(machine *m, hrc_error *err)
{
    TRY(need(m, 2, err));
    const pickle_value *name = pop(m), *module = pop(m);
    if (name->kind != PICKLE_TEXT || module->kind != PICKLE_TEXT)
        return damaged(m, "names a function by what is no text", err);
    return push_global(m, (file_view){module->data, module->size}, (file_view){name->data, name->size}, err);
}

static hrc_status op_reduce(machine *m, hrc_error *err)
{
    TRY(need(m, 2, err));
    const pickle_value *arguments = pop(m), *function = pop(m);
    pickle_value *made = fresh(m, PICKLE_NONE);
    if (!made) return out_of_memory(m, err);
    const char *why = pickle_make(made, function, arguments, m->memory);
    return why ? damaged(m, why, err) : push(m, made, err);
}

/* joblib's arrays: behind the object that describes one stand a byte that counts the padding, the padding,
 * and the numbers. */
static hrc_status splice_array(machine *m, pickle_value *wrapper, const pickle_value *state, hrc_error *err)
{
    npy *a = ARENA_NEW(m->memory, npy, 1);
    if (!a) return out_of_memory(m, err);
    bool padded = false;
    const char *why = pickle_wrapped(a, &padded, state);
    if (why) return damaged(m, why, err);
    uint64_t padding = 0;
    const char *unused;
    if (padded) {
        TRY(take_size(m, 1, &padding, err));
        TRY(take_bytes(m, (size_t)padding, &unused, err));
    }
    TRY(take_bytes(m, (size_t)a->count * (size_t)a->item, &a->data, err));
    wrapper->kind = PICKLE_ARRAY;
    wrapper->array = a;
    return HRC_OK;
}

static hrc_status op_build(machine *m, hrc_error *err)
{
    TRY(need(m, 2, err));
    const pickle_value *state = pop(m);
    pickle_value *object = m->stack.at[m->stack.n - 1];
    if (object->kind == PICKLE_WRAPPER) return splice_array(m, object, state, err);
    const char *why = pickle_fill(object, state);
    return why ? damaged(m, why, err) : HRC_OK;
}

/* ---- All opcodes ---- */

/* Those that Python knows and this machine does not. */
static const char *refused_name(unsigned char op)
{
    static const struct {
        unsigned char op;
        const char *name;
    } REFUSED[] = {
        {'F', "FLOAT"},      {'I', "INT"},          {'L', "LONG"},
        {'P', "PERSID"},     {'Q', "BINPERSID"},    {'S', "STRING"},
        {'V', "UNICODE"},    {'g', "GET"},          {'i', "INST"},
        {'o', "OBJ"},        {'p', "PUT"},          {0x82, "EXT1"},
        {0x83, "EXT2"},      {0x84, "EXT4"},        {0x8b, "LONG4"},
        {0x8f, "EMPTY_SET"}, {0x90, "ADDITEMS"},    {0x91, "FROZENSET"},
        {0x92, "NEWOBJ_EX"}, {0x97, "NEXT_BUFFER"}, {0x98, "READONLY_BUFFER"},
    };
    for (int i = 0; i < COUNT(REFUSED); i++)
        if (REFUSED[i].op == op) return REFUSED[i].name;
    return "unknown";
}

static hrc_status skip(machine *m, size_t n, hrc_error *err)
{
    const char *unused;
    return take_bytes(m, n, &unused, err);
}

static hrc_status op_memo(machine *m, unsigned char op, hrc_error *err)
{
    uint64_t slot = (uint64_t)m->memo.n;
    if (op != 0x94) TRY(take_size(m, op == 'q' ? 1 : 4, &slot, err));
    return op_put(m, slot, err);
}

/* Whatever makes a value out of the bytes that follow; false where the opcode is another. */
static bool leaf(machine *m, unsigned char op, hrc_status *status, hrc_error *err)
{
    switch (op) {
    case 'N': *status = push(m, fresh(m, PICKLE_NONE), err); return true;
    case 0x88: *status = push_int(m, 1, err); return true;
    case 0x89: *status = push_int(m, 0, err); return true;
    case 'J': *status = op_int(m, 4, true, err); return true;
    case 'K': *status = op_int(m, 1, false, err); return true;
    case 'M': *status = op_int(m, 2, false, err); return true;
    case 0x8a: *status = op_long(m, err); return true;
    case 'G': *status = op_float(m, err); return true;
    case 0x8c: *status = op_string(m, PICKLE_TEXT, 1, err); return true;
    case 'X': *status = op_string(m, PICKLE_TEXT, 4, err); return true;
    case 0x8d: *status = op_string(m, PICKLE_TEXT, 8, err); return true;
    case 'U':
    case 'C': *status = op_string(m, PICKLE_BYTES, 1, err); return true;
    case 'T':
    case 'B': *status = op_string(m, PICKLE_BYTES, 4, err); return true;
    case 0x8e:
    case 0x96: *status = op_string(m, PICKLE_BYTES, 8, err); return true;
    default: return false;
    }
}

static hrc_status step(machine *m, unsigned char op, hrc_error *err)
{
    hrc_status status;
    if (leaf(m, op, &status, err)) return status;
    switch (op) {
    case 0x80: return skip(m, 1, err); /* PROTO */
    case 0x95: return skip(m, 8, err); /* FRAME */
    case '(': return op_mark(m, err);
    case '0': TRY(need(m, 1, err)); return pop(m), HRC_OK;
    case '2': TRY(need(m, 1, err)); return push(m, m->stack.at[m->stack.n - 1], err);
    case ')':
    case ']': return op_gather(m, PICKLE_LIST, 0, err);
    case '}': return op_gather(m, PICKLE_DICT, 0, err);
    case 0x85:
    case 0x86:
    case 0x87: return op_gather(m, PICKLE_LIST, op - 0x84, err);
    case 'a': return op_add(m, PICKLE_LIST, 1, err);
    case 's': return op_add(m, PICKLE_DICT, 2, err);
    case '1':
    case 't':
    case 'l':
    case 'd':
    case 'e':
    case 'u': return op_group(m, (char)op, err);
    case 'q':
    case 'r':
    case 0x94: return op_memo(m, op, err);
    case 'h': return op_get(m, 1, err);
    case 'j': return op_get(m, 4, err);
    case 'c': return op_global(m, err);
    case 0x93: return op_stack_global(m, err);
    case 'R':
    case 0x81: return op_reduce(m, err);
    case 'b': return op_build(m, err);
    default:
        return fail(err, HRC_EFORMAT, "%s: byte %zu: the opcode 0x%02x (%s), which is not read from a pickle",
                    m->path, m->op, op, refused_name(op));
    }
}

static hrc_status run(machine *m, const pickle_value **out, hrc_error *err)
{
    for (int steps = 0; m->place < m->bytes.size; steps++) {
        m->op = m->place;
        unsigned char op = (unsigned char)m->bytes.data[m->place++];
        if (op == '.') {
            TRY(need(m, 1, err));
            *out = m->stack.at[m->stack.n - 1];
            return HRC_OK;
        }
        if (steps == STEPS_MAX) return damaged(m, "more opcodes than are read from one pickle", err);
        TRY(step(m, op, err));
    }
    m->op = m->bytes.size;
    return damaged(m, "the pickle ends without STOP: truncated", err);
}

hrc_status pickle_parse(const pickle_value **out, const char *path, file_view bytes, arena *memory,
                        hrc_error *err)
{
    machine m = {.path = path, .bytes = bytes, .memory = memory};
    *out = NULL;
    hrc_status status = run(&m, out, err);
    free(m.stack.at);
    free(m.memo.at);
    free(m.marks);
    return status;
}

/* ---- Looking into it ---- */

bool pickle_is(const pickle_value *text, const char *wanted)
{
    return text && text->kind == PICKLE_TEXT && text->size == strlen(wanted) &&
           memcmp(text->data, wanted, text->size) == 0;
}

const pickle_value *pickle_get(const pickle_value *dict, const char *key)
{
    if (!dict || dict->kind != PICKLE_DICT) return NULL;
    for (int i = dict->n - 2; i >= 0; i -= 2) /* the last of equal keys counts, as in Python */
        if (pickle_is(dict->items[i], key)) return dict->items[i + 1];
    return NULL;
}

bool pickle_number(const pickle_value *v, double *out)
{
    if (!v) return false;
    if (v->kind == PICKLE_INT) return *out = (double)v->integer, true;
    if (v->kind == PICKLE_FLOAT) return *out = v->real, true;
    if (v->kind != PICKLE_ARRAY || v->array->count != 1 || !npy_is_number(v->array)) return false;
    return *out = npy_number(v->array, 0), true;
}
