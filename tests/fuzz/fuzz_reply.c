/* What a server may say to the client library: any bytes as the reply to any kind of request, in
 * one piece and in small ones. Both must end alike. The first byte is the kind, the second the size
 * of the pieces. */
#include <stdint.h>
#include <string.h>

#include "fuzz_check.h"
#include "reply.h"
#include "resp.h"

#define IDS 3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct ending {
    int status;
    size_t taken; /* bytes */
    struct request request;
    struct idmint_result result;
    struct idmint_oid ids[IDS];
};

static void feed(const uint8_t *data, size_t size, size_t piece, enum request_kind kind,
                 struct ending *ending)
{
    struct idmint *handle = NULL;
    size_t at = 0, dropped = 0;

    memset(ending, 0, sizeof(*ending));
    FUZZ_CHECK(idmint_create(NULL, &handle) == IDMINT_OK);
    ending->request = (struct request){.kind = kind, .count = IDS, .ids = ending->ids};
    do {
        const size_t len = size - at < piece ? size - at : piece;

        /* As connection.c does before it reads: what was taken makes room. */
        buffer_consume(&handle->in, handle->in_start);
        dropped += handle->in_start;
        handle->in_start = 0;
        buffer_append(&handle->in, data + at, len);
        at += len;
        ending->status = reply_take(handle, &ending->request, &ending->result);
    } while (ending->status == RESP_MORE && at < size);
    FUZZ_CHECK(handle->in_start <= handle->in.len);
    ending->taken = dropped + handle->in_start;
    if (ending->status == RESP_OK && ending->result.outcome == IDMINT_OK) {
        for (size_t i = 0; i < ending->result.value_count; i++) {
            const struct idmint_value *value = &ending->result.values[i];
            const char *end = handle->in.data + handle->in_start;

            FUZZ_CHECK(value->type != IDMINT_STRING ||
                       (value->data >= handle->in.data && value->data + value->len <= end));
        }
    }
    ending->result.values = NULL;
    idmint_destroy(handle);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ending whole, pieces;

    if (size < 3) {
        return 0;
    }
    const enum request_kind kind = (enum request_kind)(data[0] % (REQUEST_GET + 1));
    const size_t piece = data[1] % 64 + 1;
    feed(data + 2, size - 2, size, kind, &whole);
    feed(data + 2, size - 2, piece, kind, &pieces);
    FUZZ_CHECK(whole.status == pieces.status);
    FUZZ_CHECK(whole.request.got == pieces.request.got);
    FUZZ_CHECK(memcmp(whole.ids, pieces.ids, sizeof(whole.ids)) == 0);
    if (whole.status == RESP_OK) {
        FUZZ_CHECK(whole.taken == pieces.taken);
        FUZZ_CHECK(whole.result.outcome == pieces.result.outcome);
        FUZZ_CHECK(whole.result.value_count == pieces.result.value_count);
        FUZZ_CHECK(whole.result.first == pieces.result.first);
        FUZZ_CHECK(whole.result.last == pieces.result.last);
    }
    return 0;
}
