#include "lease.h"

#include <string.h>

/* Renewals are this much more frequent than they would need to be. */
#define RENEWALS_A_LEASE 4

void lease_init(struct lease *lease, const struct lease_settings *settings)
{
    memset(lease, 0, sizeof *lease);
    lease->settings = *settings;
    lease->seen_ms = -1;
}

static bool is_mine(const struct lease *lease)
{
    return !lease->seen.given && strcmp(lease->seen.owner, lease->settings.owner) == 0;
}

/* Nobody holds it, or whoever did does so no more. */
static bool is_free(const struct lease *lease, int64_t boot_ms)
{
    const struct store_lease *seen = &lease->seen;
    if (seen->epoch == 0 || seen->given || lease->owner_dead)
        return true;
    int64_t length_ms =
        seen->length_ms > lease->settings.length_ms ? seen->length_ms : lease->settings.length_ms;
    return boot_ms - lease->seen_ms >= length_ms;
}

enum lease_action lease_next(struct lease *lease, int64_t boot_ms, struct store_lease *wish)
{
    if (lease->asking || boot_ms < lease->next_ms)
        return LEASE_NOTHING;
    enum lease_action action = LEASE_READ;
    if (lease->seen_ms >= 0 && is_mine(lease))
        action = LEASE_RENEW;
    else if (lease->seen_ms >= 0 && is_free(lease, boot_ms))
        action = LEASE_TAKE;
    *wish = lease->seen;
    if (action == LEASE_TAKE) {
        memcpy(wish->owner, lease->settings.owner, sizeof wish->owner);
        memcpy(wish->address, lease->settings.address, sizeof wish->address);
        wish->length_ms = lease->settings.length_ms;
    }
    lease->asking = true;
    lease->asked_ms = boot_ms;
    return action;
}

static bool same_record(const struct store_lease *a, const struct store_lease *b)
{
    return a->epoch == b->epoch && a->renewals == b->renewals && a->given == b->given;
}

void lease_answer(struct lease *lease, enum lease_action action, enum store_result result,
                  const struct store_lease *record, int64_t boot_ms)
{
    const int64_t pace_ms = lease->settings.length_ms / RENEWALS_A_LEASE;
    lease->asking = false;
    if (result != STORE_DONE && result != STORE_CHANGED) {
        /* What became of a TAKE or RENEW is not known: look, soon. The lease itself runs on until
         * its end, by what is known. */
        lease->next_ms = boot_ms + pace_ms / 4;
        if (action != LEASE_READ)
            lease->seen_ms = -1;
        return;
    }
    if (lease->seen_ms < 0 || !same_record(record, &lease->seen)) {
        lease->seen_ms = boot_ms;
        lease->owner_dead = false;
    }
    lease->seen = *record;
    if (result == STORE_DONE && action != LEASE_READ)
        atomic_store_explicit(&lease->until_ms,
                              lease->asked_ms + lease->settings.length_ms -
                                  lease->settings.margin_ms,
                              memory_order_release);
    else if (!is_mine(lease))
        atomic_store_explicit(&lease->until_ms, 0, memory_order_release);
    lease->next_ms = boot_ms + pace_ms;
    /* A record that is free, or mine though it is not known how long (an answer was lost), is acted
     * on at once. */
    if (action == LEASE_READ && (is_mine(lease) || is_free(lease, boot_ms)))
        lease->next_ms = boot_ms;
}

void lease_owner_died(struct lease *lease)
{
    lease->owner_dead = !is_mine(lease);
    if (lease->owner_dead && !lease->asking)
        lease->next_ms = 0;
}
