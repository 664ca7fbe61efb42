/* One ObjectId, a thousand of them, and a range that is spelled out here. */
#include <idmint.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(const struct idmint *handle, int outcome)
{
    fprintf(stderr, "%s: %s\n", idmint_outcome_text(outcome), idmint_error(handle));
    return EXIT_FAILURE;
}

int main(void)
{
    const struct idmint_options options = {.addresses = getenv("IDMINT_ADDR")};
    static struct idmint_oid ids[1000];
    struct idmint_oid id, first;
    struct idmint *handle;
    char text[IDMINT_OID_TEXT];
    int outcome = idmint_create(&options, &handle);

    if (outcome != IDMINT_OK) {
        fprintf(stderr, "%s\n", idmint_outcome_text(outcome));
        return EXIT_FAILURE;
    }
    outcome = idmint_oid(handle, &id);
    if (outcome == IDMINT_OK) {
        outcome = idmint_oids(handle, 1000, ids, NULL);
    }
    if (outcome == IDMINT_OK) {
        outcome = idmint_oid_range(handle, 1000, &first);
    }
    if (outcome == IDMINT_OK) {
        idmint_oid_text(&id, text);
        printf("one id            %s\n", text);
        idmint_oid_text(&ids[999], text);
        printf("the last of 1000  %s\n", text);
        outcome = idmint_oid_expand(&first, 0, 1000, ids);
    }
    if (outcome != IDMINT_OK) {
        int code = fail(handle, outcome);
        idmint_destroy(handle);
        return code;
    }
    idmint_oid_text(&ids[999], text);
    printf("and of a range    %s\n", text);
    idmint_destroy(handle);
    return EXIT_SUCCESS;
}
