/* The metrics, each stated once: /metrics, metrics.md and the tests follow this table.
 *
 * METRIC_ROW(identifier, name, type, unit, help)
 * type: counter, gauge or histogram. unit: how the value is kept: ONE as it is told, MS and US in
 * thousandths and millionths of what is told, PERCENT in hundredths; LABELS: the family has labels
 * or is a histogram, and a function of its own in metrics_write.c. */
#ifndef IDMINT_METRICS_ROWS_H
#define IDMINT_METRICS_ROWS_H

#define METRIC_ROWS                                                                                \
    METRIC_ROW(BUILD, "idmint_build_info", gauge, LABELS,                                          \
               "1, with the version, the kind of store and its engine")                            \
    METRIC_ROW(COMMANDS, "idmint_command_duration_seconds", histogram, LABELS,                     \
               "Time from a command's arrival to its reply, of commands that were used")           \
    METRIC_ROW(ERRORS, "idmint_errors_total", counter, LABELS, "Error replies by error word")      \
    METRIC_ROW(HTTP, "idmint_http_requests_total", counter, LABELS,                                \
               "HTTP requests by class of status")                                                 \
    METRIC_ROW(ISSUED, "idmint_issued_total", counter, LABELS,                                     \
               "Ids and counter values issued, by kind")                                           \
    METRIC_ROW(CONNECTIONS, "idmint_connections", gauge, ONE, "Open connections")                  \
    METRIC_ROW(CONNECTIONS_LIMIT, "idmint_connections_limit", gauge, ONE,                          \
               "Connections allowed (limits.connections)")                                         \
    METRIC_ROW(OPENED, "idmint_connections_opened_total", counter, ONE, "Connections accepted")    \
    METRIC_ROW(REFUSED, "idmint_connections_refused_total", counter, ONE,                          \
               "Connections refused since there were too many")                                    \
    METRIC_ROW(BUFFERS, "idmint_buffer_bytes", gauge, ONE,                                         \
               "Memory of all connections' buffers and waiting requests")                          \
    METRIC_ROW(BUFFERS_LIMIT, "idmint_buffer_limit_bytes", gauge, ONE,                             \
               "Memory allowed for these (limits.buffers)")                                        \
    METRIC_ROW(STORE_UP, "idmint_store_up", gauge, ONE,                                            \
               "1 while the store answers, 0 while its last commit failed or one hangs")           \
    METRIC_ROW(STORE_AGE, "idmint_store_answer_age_seconds", gauge, MS,                            \
               "Time since the store last answered")                                               \
    METRIC_ROW(STORE_QUEUED, "idmint_store_queued_ops", gauge, ONE,                                \
               "Store operations that wait for a commit")                                          \
    METRIC_ROW(STORE_OPS, "idmint_store_ops_total", counter, LABELS,                               \
               "Store operations by what became of them")                                          \
    METRIC_ROW(COMMIT_TIME, "idmint_store_commit_duration_seconds", histogram, LABELS,             \
               "Time of a commit (a flush) in the store")                                          \
    METRIC_ROW(COMMIT_OPS, "idmint_store_commit_ops", histogram, LABELS,                           \
               "Store operations that shared a commit")                                            \
    METRIC_ROW(OID_LEAD, "idmint_oid_lead_seconds", gauge, MS,                                     \
               "How far the seconds of ObjectIds are ahead of the clock")                          \
    METRIC_ROW(OID_WINDOW, "idmint_oid_window_seconds", gauge, MS,                                 \
               "What is left of the saved high-water window; below 0: none")                       \
    METRIC_ROW(OID_WINDOW_SIZE, "idmint_oid_window_size_seconds", gauge, MS,                       \
               "The window as it is when just saved (oid.window, mongo.window)")                   \
    METRIC_ROW(CLOCK_STEP, "idmint_clock_step_waited_out", gauge, ONE,                             \
               "1 while a long forward step of the clock is not followed yet")                     \
    METRIC_ROW(LEADS, "idmint_leads", gauge, ONE,                                                  \
               "1 where this daemon is the one that issues ObjectIds")                             \
    METRIC_ROW(LEASE_LEFT, "idmint_lease_left_seconds", gauge, MS,                                 \
               "What is left of the lease; 0: no lease, or the store is not shared")               \
    METRIC_ROW(LEASE_EPOCH, "idmint_lease_epoch", gauge, ONE,                                      \
               "How often the lease was taken, by any daemon")                                     \
    METRIC_ROW(COUNTERS, "idmint_counters_in_memory", gauge, ONE, "Counters held in memory")       \
    METRIC_ROW(COUNTERS_BYTES, "idmint_counters_bytes", gauge, ONE, "Memory that they take")       \
    METRIC_ROW(COUNTER_REPLIES, "idmint_counters_replies_total", counter, LABELS,                  \
               "Replies with counter values: from a reserved block, or by a commit")               \
    METRIC_ROW(COUNTER_FLUSHES, "idmint_counters_flushes_total", counter, ONE,                     \
               "Takes and reads of counters asked of the store")                                   \
    METRIC_ROW(HEADROOM, "idmint_counters_headroom_ratio", gauge, PERCENT,                         \
               "The smallest share left below MAX, of the counters held in memory")                \
    METRIC_ROW(RESIDENT, "idmint_process_resident_memory_bytes", gauge, ONE,                       \
               "Resident memory of the process")                                                   \
    METRIC_ROW(CPU, "idmint_process_cpu_seconds_total", counter, US, "CPU time, user and system")  \
    METRIC_ROW(OPEN_FDS, "idmint_process_open_fds", gauge, ONE, "Open descriptors")                \
    METRIC_ROW(MAX_FDS, "idmint_process_max_fds", gauge, ONE, "Descriptors that may be open")      \
    METRIC_ROW(START, "idmint_process_start_time_seconds", gauge, MS,                              \
               "Unix time at which the process started")

enum metric_id {
#define METRIC_ROW(id, name, type, unit, help) METRIC_##id,
    METRIC_ROWS
#undef METRIC_ROW
        METRIC_IDS
};

#endif
