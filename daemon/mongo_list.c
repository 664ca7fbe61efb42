/* The names in the collection, in byte order, with the counters that stand elsewhere merged in.
 * What holds no integer, or bears a name that no client can give, is no counter here. */
#include "mongo_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limit.h"
#include "name.h"

/* A row before its options are known. */
struct found {
    char *name;
    size_t name_len;
    struct mongo_value value;
    const struct mongo_place *place;
};

struct page {
    struct found *rows;
    size_t count, room;
};

static int add_row(struct page *page, const char *name, size_t name_len,
                   const struct mongo_value *value, const struct mongo_place *place)
{
    if (page->count == page->room) {
        size_t room = page->room == 0 ? 64 : page->room * 2;
        struct found *rows = realloc(page->rows, room * sizeof(*rows));
        if (rows == NULL)
            return -1;
        page->rows = rows;
        page->room = room;
    }
    char *copy = strndup(name, name_len);
    if (copy == NULL)
        return -1;
    page->rows[page->count++] = (struct found){copy, name_len, *value, place};
    return 0;
}

static void free_page(struct page *page)
{
    for (size_t i = 0; i < page->count; i++)
        free(page->rows[i].name);
    free(page->rows);
    *page = (struct page){0};
}

static bool is_number(const struct mongo_value *value)
{
    return mongo_value_is_integer(value) || value->kind == MONGO_WHOLE;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct found *)a)->name, ((const struct found *)b)->name);
}

/* Names greater than `after`, or where a page was left, and not less than the prefix. */
static bson_t *make_command(const struct mongo_place *place, const struct store_op *op,
                            const char *after, size_t after_len, bool from_prefix)
{
    bson_t *command = BCON_NEW("find", BCON_UTF8(place->collection), "projection", "{", place->key,
                               BCON_INT32(1), place->field, BCON_INT32(1), "}", "sort", "{",
                               place->key, BCON_INT32(1), "}", "collation", "{", "locale", "simple",
                               "}", "singleBatch", BCON_BOOL(true), "limit", BCON_INT64(op->count));
    bson_t filter, range;
    bson_append_document_begin(command, "filter", -1, &filter);
    bson_append_document_begin(&filter, place->key, -1, &range);
    BSON_APPEND_UTF8(&range, "$type", "string");
    if (from_prefix)
        bson_append_utf8(&range, "$gte", -1, op->name_len != 0 ? op->name : "", (int)op->name_len);
    else
        bson_append_utf8(&range, "$gt", -1, after, (int)after_len);
    bson_append_document_end(&filter, &range);
    bson_append_document_end(command, &filter);
    return command;
}

static bool wanted(const struct store_op *op, const char *name, size_t name_len)
{
    size_t len = name_len < op->after_len ? name_len : op->after_len;
    int order = len == 0 ? 0 : memcmp(name, op->after, len);
    bool later = op->after_len == 0 || order > 0 || (order == 0 && name_len > op->after_len);
    return later && store_list_wants(op, name, name_len) && name_check(name, name_len) == NULL;
}

/* One reply's rows. Returns how many documents it held, -1: no memory; `last` is the last name. */
static int take_rows(const struct mongo_places *places, const struct store_op *op,
                     const bson_t *reply, struct page *page, char *last, size_t *last_len)
{
    const struct mongo_place *place = &places->fallback;
    bson_t batch, document;
    bson_iter_t at, key;
    int documents = 0;
    if (!mongo_find_document(reply, "cursor.firstBatch", &batch) || !bson_iter_init(&at, &batch))
        return 0;
    while (bson_iter_next(&at)) {
        uint32_t bytes_len, name_len;
        const uint8_t *bytes;
        struct mongo_value value;
        bson_iter_document(&at, &bytes_len, &bytes);
        if (bytes == NULL || !bson_init_static(&document, bytes, bytes_len) ||
            !mongo_find(&document, place->key, &key) || !BSON_ITER_HOLDS_UTF8(&key))
            continue;
        documents++;
        const char *name = bson_iter_utf8(&key, &name_len);
        *last_len = name_len < CONFIG_TEXT_BYTES ? name_len : CONFIG_TEXT_BYTES;
        memcpy(last, name, *last_len);
        mongo_value_read(&document, place->field, &value);
        if (is_number(&value) && wanted(op, name, name_len) &&
            mongo_place_of(places, name, name_len) == place &&
            add_row(page, name, name_len, &value, place) < 0)
            return -1;
    }
    return documents;
}

/* Reads on until the page is full or nothing more can come. */
static int read_collection(const struct mongo_places *places, struct mongo_work *work,
                           struct page *page)
{
    struct store_op *op = work->op;
    char last[CONFIG_TEXT_BYTES];
    size_t last_len = op->after_len;
    if (last_len > sizeof(last) ||
        !bson_utf8_validate(op->name_len ? op->name : "", op->name_len, false))
        return 0;
    if (last_len != 0)
        memcpy(last, op->after, last_len);
    size_t common = op->name_len < last_len ? op->name_len : last_len;
    int order = common == 0 ? 0 : memcmp(op->name, last, common);
    bool from_prefix = last_len == 0 || order > 0 || (order == 0 && op->name_len > last_len);
    int64_t documents = op->count;
    while (documents == op->count && page->count < (size_t)op->count) {
        bson_t reply;
        if (mongo_read(work->call, places->fallback.database,
                       make_command(&places->fallback, op, last, last_len, from_prefix), &reply,
                       &work->fault) < 0)
            return -1;
        documents = take_rows(places, op, &reply, page, last, &last_len);
        bson_destroy(&reply);
        if (documents < 0) {
            mongo_fault_set(&work->fault, STORE_NOT_DONE, "out of memory");
            return -1;
        }
        if (!store_list_wants(op, last, last_len))
            break; /* past the prefix */
        from_prefix = false;
    }
    return 0;
}

static int read_own(const struct mongo_places *places, struct mongo_work *work, struct page *page)
{
    struct store_op *op = work->op;
    for (size_t i = 0; i < places->own_count; i++) {
        const struct mongo_place *place = &places->own[i];
        size_t name_len = strlen(place->counter);
        if (!wanted(op, place->counter, name_len))
            continue;
        struct store_op one = {.verb = STORE_READ, .name = place->counter, .name_len = name_len};
        struct mongo_work look = *work;
        struct mongo_value value;
        look.op = &one;
        look.place = place;
        if (mongo_look(&look, true, &value) < 0) {
            work->fault = look.fault;
            return -1;
        }
        if (is_number(&value) && add_row(page, place->counter, name_len, &value, place) < 0) {
            mongo_fault_set(&work->fault, STORE_NOT_DONE, "out of memory");
            return -1;
        }
    }
    return 0;
}

static int read_options(struct mongo_work *work, const struct page *page, size_t count,
                        bson_t *reply)
{
    bson_t *command =
        BCON_NEW("find", MONGO_STATE_COLLECTION, "sort", "{", "_id", BCON_INT32(1), "}",
                 "singleBatch", BCON_BOOL(true), "batchSize", BCON_INT32(LIMIT_LIST_PAGE));
    bson_t filter, id, in = BSON_INITIALIZER;
    for (size_t i = 0; i < count; i++) {
        char key[24], value[sizeof("counter/") + LIMIT_NAME_BYTES];
        snprintf(key, sizeof(key), "%zu", i);
        snprintf(value, sizeof(value), "counter/%s", page->rows[i].name);
        BSON_APPEND_UTF8(&in, key, value);
    }
    bson_append_document_begin(command, "filter", -1, &filter);
    bson_append_document_begin(&filter, "_id", -1, &id);
    BSON_APPEND_ARRAY(&id, "$in", &in);
    bson_append_document_end(&filter, &id);
    bson_append_document_end(command, &filter);
    bson_destroy(&in);
    return mongo_read(work->call, work->state->config->mongo.state_database, command, reply,
                      &work->fault);
}

/* Options and rows are both in the order of names: one pass over both. */
static void tell_rows(struct mongo_work *work, const struct page *page, size_t count,
                      const bson_t *reply)
{
    static const bson_t none = BSON_INITIALIZER;
    bson_t batch, document;
    bson_iter_t at, id;
    bool more = mongo_find_document(reply, "cursor.firstBatch", &batch) &&
                bson_iter_init(&at, &batch) && bson_iter_next(&at);
    for (size_t i = 0; i < count; i++) {
        const struct found *row = &page->rows[i];
        struct store_counter counter;
        uint32_t len = 0;
        const uint8_t *bytes = NULL;
        if (more)
            bson_iter_document(&at, &len, &bytes);
        bool stated = more && bytes != NULL && bson_init_static(&document, bytes, len) &&
                      bson_iter_init_find(&id, &document, "_id") && BSON_ITER_HOLDS_UTF8(&id) &&
                      strcmp(bson_iter_utf8(&id, NULL) + strlen("counter/"), row->name) == 0;
        mongo_state_parse(work->state, stated ? &document : &none, row->name, row->name_len,
                          &counter);
        counter.value = mongo_value_of(row->place, counter.step, row->value.number);
        work->op->row(work->op, row->name, row->name_len, &counter);
        if (stated)
            more = bson_iter_next(&at);
    }
}

void mongo_list(const struct mongo_places *places, struct mongo_work *work)
{
    struct store_op *op = work->op;
    struct page page = {0};
    bson_t reply;
    op->created = false;
    op->text[0] = '\0';
    if (read_collection(places, work, &page) < 0 || read_own(places, work, &page) < 0)
        goto fail;
    if (page.count > 1)
        qsort(page.rows, page.count, sizeof(*page.rows), compare_names);
    size_t count = page.count < (size_t)op->count ? page.count : (size_t)op->count;
    if (count != 0) {
        if (read_options(work, &page, count, &reply) < 0)
            goto fail;
        tell_rows(work, &page, count, &reply);
        bson_destroy(&reply);
    }
    op->result = STORE_DONE;
    free_page(&page);
    return;

fail:
    mongo_work_fail(work);
    free_page(&page);
}
