/* The command table, each command stated once. HELP, COMMAND, COMMAND DOCS and the dispatcher are
 * made from it; the table in protocol.md is checked against it.
 *
 * COMMAND_ROW(identifier, name, subcommand or "", fewest and most arguments after name and
 *             subcommand (-1: no bound but LIMIT_ARGS), flags, argument syntax, summary, reply) */
#ifndef IDMINT_COMMANDS_H
#define IDMINT_COMMANDS_H

enum command_flag {
    COMMAND_READ = 1 << 0,    /* takes nothing */
    COMMAND_WRITE = 1 << 1,   /* takes values, or changes what is stored */
    COMMAND_ADMIN = 1 << 2,   /* may make values be issued again */
    COMMAND_OPEN = 1 << 3,    /* allowed before authentication */
    COMMAND_ORDERED = 1 << 4, /* waits until every earlier command of its connection has answered */
    COMMAND_RUN = 1 << 5,     /* identical commands in a row are handled in one call */
    COMMAND_NOW = 1 << 6,     /* between MULTI and EXEC: carried out at once, not queued */
};

#define COMMAND_ROWS                                                                               \
    COMMAND_ROW(oid, "OID", "", 0, 2, COMMAND_WRITE | COMMAND_RUN, "[count] [LINE]",               \
                "Issue ObjectIds in strict order",                                                 \
                "a string of 24 hex digits; with a count an array; with LINE one string")          \
    COMMAND_ROW(oid_range, "OID", "RANGE", 1, 1, COMMAND_WRITE, "count",                           \
                "Issue a contiguous range of ObjectIds", "array: first id, count")                 \
    COMMAND_ROW(oid_decode, "OID", "DECODE", 1, 1, COMMAND_READ, "hex",                            \
                "Show what an ObjectId is made of", "map of field and value")                      \
    COMMAND_ROW(oid_at, "OID", "AT", 1, 1, COMMAND_READ, "time",                                   \
                "The lowest ObjectId of a second (unix seconds or RFC 3339)", "a string")          \
    COMMAND_ROW(next, "NEXT", "", 1, 4, COMMAND_WRITE | COMMAND_RUN,                               \
                "name [count] [STRING] [LINE]", "Take the next value, or range, of a counter",     \
                "integer; with a count an array: first, last; as strings with STRING; "            \
                "with LINE one string")                                                            \
    COMMAND_ROW(incr, "INCR", "", 1, 1, COMMAND_WRITE | COMMAND_RUN, "name",                       \
                "Take the next value of a counter", "integer")                                     \
    COMMAND_ROW(incrby, "INCRBY", "", 2, 2, COMMAND_WRITE | COMMAND_RUN, "name count",             \
                "Take count values of a counter; 0 reads", "integer: the last value taken")        \
    COMMAND_ROW(get, "GET", "", 1, 1, COMMAND_READ | COMMAND_ORDERED, "name",                      \
                "The greatest value issued (with CACHE: reserved)", "a string, or null")           \
    COMMAND_ROW(mget, "MGET", "", 1, -1, COMMAND_READ | COMMAND_ORDERED, "name [name ...]",        \
                "GET for several counters", "array of strings or nulls")                           \
    COMMAND_ROW(exists, "EXISTS", "", 1, -1, COMMAND_READ | COMMAND_ORDERED, "name [name ...]",    \
                "How many of these counters exist", "integer")                                     \
    COMMAND_ROW(type, "TYPE", "", 1, 1, COMMAND_READ | COMMAND_ORDERED, "name",                    \
                "string for a counter that exists, else none", "a string")                         \
    COMMAND_ROW(set, "SET", "", 2, -1, COMMAND_WRITE | COMMAND_ORDERED, "name value NX",           \
                "Create a counter whose last value is value, where there is none",                 \
                "OK, or null where it exists")                                                     \
    COMMAND_ROW(setnx, "SETNX", "", 2, 2, COMMAND_WRITE | COMMAND_ORDERED, "name value",           \
                "As SET name value NX", "integer: 1 created, 0 it exists")                         \
    COMMAND_ROW(counter_create, "COUNTER", "CREATE", 1, 11, COMMAND_WRITE | COMMAND_ORDERED,       \
                "name [START n] [STEP n] [MAX n] [CACHE n] [VALUE n]",                             \
                "Create a counter with options", "OK")                                             \
    COMMAND_ROW(counter_info, "COUNTER", "INFO", 1, 1, COMMAND_READ | COMMAND_ORDERED, "name",     \
                "Value and options of a counter", "map of field and value")                        \
    COMMAND_ROW(counter_list, "COUNTER", "LIST", 0, 6, COMMAND_READ | COMMAND_ORDERED,             \
                "[PREFIX prefix] [AFTER name] [COUNT n]",                                          \
                "A page of counters in byte order of their names",                                 \
                "array: the name to go on AFTER (empty at the end), array of counters, each "      \
                "an array: name, value, start, step, max, cache")                                  \
    COMMAND_ROW(counter_raise, "COUNTER", "RAISE", 2, 2, COMMAND_WRITE | COMMAND_ORDERED,          \
                "name value", "Move a counter forward to value; never back",                       \
                "a string: the value it stands at")                                                \
    COMMAND_ROW(counter_sync, "COUNTER", "SYNC", 3, 3, COMMAND_WRITE | COMMAND_ORDERED,            \
                "name database.collection field",                                                  \
                "Raise a counter to the greatest value of a field in MongoDB",                     \
                "a string: the value it stands at")                                                \
    COMMAND_ROW(counter_reset, "COUNTER", "RESET", 2, 3,                                           \
                COMMAND_WRITE | COMMAND_ADMIN | COMMAND_ORDERED, "name value FORCE",               \
                "Set a counter to value, also back: values are issued again", "OK")                \
    COMMAND_ROW(counter_drop, "COUNTER", "DROP", 1, 2,                                             \
                COMMAND_WRITE | COMMAND_ADMIN | COMMAND_ORDERED, "name FORCE",                     \
                "Remove a counter: its name starts over at its next use", "OK")                    \
    COMMAND_ROW(uuid, "UUID", "", 0, 4, COMMAND_WRITE, "[V4|V7] [count] [PLAIN] [LINE]",           \
                "Issue UUIDs (RFC 9562); V7 in strict order",                                      \
                "a string; with a count an array; with LINE one string")                           \
    COMMAND_ROW(ping, "PING", "", 0, 1, COMMAND_READ | COMMAND_RUN, "[message]",                   \
                "Is anyone there?", "PONG, or the message")                                        \
    COMMAND_ROW(echo, "ECHO", "", 1, 1, COMMAND_READ, "message", "Say it back", "the message")     \
    COMMAND_ROW(quit, "QUIT", "", 0, -1, COMMAND_OPEN | COMMAND_NOW, "", "Close the connection",   \
                "OK")                                                                              \
    COMMAND_ROW(reset, "RESET", "", 0, 0, COMMAND_OPEN | COMMAND_NOW | COMMAND_ORDERED, "",        \
                "Put the connection back to how it began", "RESET")                                \
    COMMAND_ROW(hello, "HELLO", "", 0, -1, COMMAND_OPEN | COMMAND_ORDERED,                         \
                "[protover [AUTH user password] [SETNAME name]]",                                  \
                "Choose RESP2 or RESP3; who the server is", "map of field and value")              \
    COMMAND_ROW(auth, "AUTH", "", 1, 2, COMMAND_OPEN | COMMAND_ORDERED, "[user] password",         \
                "Authenticate", "OK")                                                              \
    COMMAND_ROW(select, "SELECT", "", 1, 1, COMMAND_READ, "0", "There is one database: 0", "OK")   \
    COMMAND_ROW(time, "TIME", "", 0, 0, COMMAND_READ, "", "The daemon's clock",                    \
                "array: unix seconds, microseconds")                                               \
    COMMAND_ROW(info, "INFO", "", 0, -1, COMMAND_READ | COMMAND_ORDERED, "[section ...]",          \
                "How the daemon is doing", "a string of lines: field:value")                       \
    COMMAND_ROW(help, "HELP", "", 0, 1, COMMAND_READ, "[command]", "This list", "array of lines")  \
    COMMAND_ROW(client_id, "CLIENT", "ID", 0, 0, COMMAND_READ, "", "The connection's number",      \
                "integer")                                                                         \
    COMMAND_ROW(client_getname, "CLIENT", "GETNAME", 0, 0, COMMAND_READ, "",                       \
                "The connection's name", "a string, or null")                                      \
    COMMAND_ROW(client_setname, "CLIENT", "SETNAME", 1, 1, COMMAND_READ, "name",                   \
                "Name the connection", "OK")                                                       \
    COMMAND_ROW(client_setinfo, "CLIENT", "SETINFO", 2, 2, COMMAND_READ, "LIB-NAME|LIB-VER value", \
                "Tell which client library this is", "OK")                                         \
    COMMAND_ROW(client_list, "CLIENT", "LIST", 0, -1, COMMAND_READ, "", "The open connections",    \
                "a string, one line a connection")                                                 \
    COMMAND_ROW(client_kill, "CLIENT", "KILL", 1, -1, COMMAND_ADMIN | COMMAND_ORDERED,             \
                "addr | ID n | ADDR addr", "Close connections", "OK, or integer: how many")        \
    COMMAND_ROW(command, "COMMAND", "", 0, 0, COMMAND_READ, "",                                    \
                "The commands as Redis tells them", "array")                                       \
    COMMAND_ROW(command_count, "COMMAND", "COUNT", 0, 0, COMMAND_READ, "", "How many commands",    \
                "integer")                                                                         \
    COMMAND_ROW(command_docs, "COMMAND", "DOCS", 0, -1, COMMAND_READ, "[name ...]",                \
                "What the commands do", "map of name and map")                                     \
    COMMAND_ROW(command_info, "COMMAND", "INFO", 0, -1, COMMAND_READ, "[name ...]",                \
                "As COMMAND, for these", "array")                                                  \
    COMMAND_ROW(config_get, "CONFIG", "GET", 1, -1, COMMAND_READ, "pattern [pattern ...]",         \
                "Settings, as section.key", "map of name and value")                               \
    COMMAND_ROW(multi, "MULTI", "", 0, 0, COMMAND_NOW, "", "Begin a batch", "OK")                  \
    COMMAND_ROW(exec, "EXEC", "", 0, 0, COMMAND_NOW | COMMAND_ORDERED, "",                         \
                "Carry out the batch in order; a failed command does not undo others",             \
                "array of the replies")                                                            \
    COMMAND_ROW(discard, "DISCARD", "", 0, 0, COMMAND_NOW, "", "Forget the batch", "OK")           \
    COMMAND_ROW(decr, "DECR", "", 1, 1, COMMAND_WRITE, "name",                                     \
                "Refused: counters only move forward", "an error that names the right command")    \
    COMMAND_ROW(decrby, "DECRBY", "", 2, 2, COMMAND_WRITE, "name count",                           \
                "Refused: counters only move forward", "an error that names the right command")    \
    COMMAND_ROW(del, "DEL", "", 1, -1, COMMAND_WRITE, "name [name ...]",                           \
                "Refused: see COUNTER DROP", "an error that names the right command")              \
    COMMAND_ROW(incrbyfloat, "INCRBYFLOAT", "", 2, 2, COMMAND_WRITE, "name increment",             \
                "Refused: counters are integers", "an error that names the right command")

enum command_id {
#define COMMAND_ROW(id, name, sub, fewest, most, flags, syntax, summary, reply) COMMAND_ID_##id,
    COMMAND_ROWS
#undef COMMAND_ROW
        COMMAND_IDS
};

#endif
