#include "leader.h"

#include <stddef.h>
#include <string.h>

void leader_init(struct leader *leader, const struct leader_settings *settings, bool shared,
                 struct oid_issuer *oid, struct store_worker *worker)
{
    memset(leader, 0, sizeof *leader);
    leader->settings = *settings;
    leader->shared = shared;
    leader->oid = oid;
    leader->worker = worker;
    pthread_mutex_init(&leader->lock, NULL);
    lease_init(&leader->lease, &settings->lease);
}

void leader_advertise(struct leader *leader, const char *address)
{
    size_t len = strnlen(address, STORE_ADDRESS_BYTES - 1);
    memcpy(leader->lease.settings.address, address, len);
    leader->lease.settings.address[len] = '\0';
}

void leader_finish(struct leader *leader)
{
    pthread_mutex_destroy(&leader->lock);
}

/* With the lock held. A record that has come to be this daemon's: ids go on past what the one
 * before saved, and not before that is settled does the lease count. */
static void take_answer(struct leader *leader, struct clock_now now)
{
    const struct store_op *op = &leader->op;
    const struct store_lease *record = &leader->record;
    bool known = op->result == STORE_DONE || op->result == STORE_CHANGED;
    bool mine = known && !record->given && strcmp(record->owner, leader->settings.lease.owner) == 0;
    if (mine && !lease_leads(&leader->lease, now.boot_ms))
        oid_resume(leader->oid, now, record->high_water_s);
    lease_answer(&leader->lease, leader->action, op->result, record, now.boot_ms);
    if (mine && op->result == STORE_DONE && leader->action == LEASE_RENEW)
        oid_saved(leader->oid, record->high_water_s);
}

static void done_cb(struct store_op *op)
{
    struct leader *leader = (struct leader *)((char *)op - offsetof(struct leader, op));
    struct clock_now now = leader->settings.now();
    pthread_mutex_lock(&leader->lock);
    if (leader->shared)
        take_answer(leader, now);
    else if (op->result == STORE_DONE)
        oid_saved(leader->oid, op->value);
    leader->asking = false;
    pthread_mutex_unlock(&leader->lock);
}

/* With the lock held: what to ask the store. false: nothing. */
static bool prepare(struct leader *leader, struct clock_now now)
{
    static const enum store_verb verbs[] = {[LEASE_READ] = STORE_LEASE_READ,
                                            [LEASE_TAKE] = STORE_LEASE_TAKE,
                                            [LEASE_RENEW] = STORE_LEASE_RENEW};
    struct lease *lease = &leader->lease;
    bool leads = leader_leads(leader, now.boot_ms);
    int64_t wanted_s = leads ? oid_wanted_high_water(leader->oid, now) : -1;
    leader->op = (struct store_op){.name = "", .done = done_cb, .lease = &leader->record};
    if (!leader->shared) {
        leader->op.verb = STORE_HIGH_WATER;
        leader->op.value = wanted_s;
        return wanted_s >= 0;
    }
    if (wanted_s >= 0)
        lease->next_ms = now.boot_ms;
    leader->action = lease_next(lease, now.boot_ms, &leader->record);
    if (leader->action == LEASE_NOTHING)
        return false;
    leader->op.verb = verbs[leader->action];
    if (leader->action == LEASE_RENEW && wanted_s > leader->record.high_water_s)
        leader->record.high_water_s = wanted_s;
    return true;
}

/* With the lock held: another one's record is known. Where it is this daemon's, though it does not
 * lead, whoever leads is not known. */
static bool knows_another(const struct leader *leader)
{
    const struct store_lease *seen = &leader->lease.seen;
    return leader->lease.seen_ms >= 0 && !seen->given && seen->address[0] != '\0' &&
           strcmp(seen->owner, leader->settings.lease.owner) != 0;
}

/* With the lock held: has something changed that the operator should know? */
static bool find_event(struct leader *leader, struct clock_now now, enum leader_event *event)
{
    bool leads = leader_leads(leader, now.boot_ms);
    bool follows = !leads && knows_another(leader);
    if (leads == leader->led && (leads || follows == leader->followed))
        return false;
    *event = leads ? LEADER_TOOK : leader->led ? LEADER_LOST : LEADER_FOLLOWS;
    bool tell = *event != LEADER_FOLLOWS || follows;
    leader->led = leads;
    leader->followed = follows && *event == LEADER_FOLLOWS;
    return tell && leader->shared;
}

void leader_tick(struct leader *leader, struct clock_now now)
{
    char address[STORE_ADDRESS_BYTES], owner[STORE_OWNER_BYTES];
    enum leader_event event;
    pthread_mutex_lock(&leader->lock);
    bool look_at_owner = leader->shared && !leader_leads(leader, now.boot_ms) &&
                         leader->lease.seen_ms >= 0 && !leader->lease.owner_dead;
    memcpy(owner, leader->lease.seen.owner, sizeof owner);
    int64_t epoch = leader->lease.seen.epoch;
    pthread_mutex_unlock(&leader->lock);
    bool ended = look_at_owner && epoch > 0 && leader->settings.owner_ended(owner);

    pthread_mutex_lock(&leader->lock);
    if (ended && leader->lease.seen.epoch == epoch)
        lease_owner_died(&leader->lease);
    bool ask = !leader->asking && prepare(leader, now);
    leader->asking = leader->asking || ask;
    bool told = find_event(leader, now, &event);
    memcpy(address, leader->lease.seen.address, sizeof address);
    pthread_mutex_unlock(&leader->lock);
    if (ask)
        store_worker_submit(leader->worker, &leader->op);
    if (told && leader->settings.event != NULL)
        leader->settings.event(leader->settings.context, event, address);
}

void leader_look(struct leader *leader, int64_t boot_ms, struct leader_state *state)
{
    memset(state, 0, sizeof *state);
    state->leads = leader_leads(leader, boot_ms);
    if (!leader->shared)
        return;
    pthread_mutex_lock(&leader->lock);
    state->epoch = leader->lease.seen.epoch;
    if (knows_another(leader) || (state->leads && leader->lease.seen_ms >= 0))
        memcpy(state->address, leader->lease.seen.address, sizeof state->address);
    pthread_mutex_unlock(&leader->lock);
    if (state->leads)
        state->lease_ms = atomic_load(&leader->lease.until_ms) - boot_ms;
}

bool leader_last_op(struct leader *leader, int64_t boot_ms, struct store_op *op,
                    struct store_lease *record)
{
    int64_t used_s = oid_close(leader->oid);
    *op = (struct store_op){.name = "", .verb = STORE_HIGH_WATER, .value = used_s};
    if (!leader->shared)
        return true;
    *record = leader->lease.seen;
    record->high_water_s = used_s;
    op->verb = STORE_LEASE_GIVE;
    op->lease = record;
    return lease_leads(&leader->lease, boot_ms);
}
