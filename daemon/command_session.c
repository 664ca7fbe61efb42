/* Commands about the connection itself. */
#include <stdio.h>
#include <string.h>

#include "auth.h"
#include "command.h"
#include "leader.h"
#include "limit.h"

void session_init(struct session *session, const struct dispatch *dispatch,
                  struct request_host *host, uint64_t id)
{
    *session = (struct session){.id = id, .host = host, .authenticated = dispatch->auth == NULL};
    buffer_init(&session->multi, LIMIT_MULTI_BYTES);
}

void session_finish(struct session *session)
{
    buffer_finish(&session->multi);
}

enum dispatch_status command_ping(struct call *call)
{
    for (uint32_t i = 0; i < call->repeat; i++) {
        if (call->argc > 1)
            resp_write_bulk(call->out, call->args[1].data, call->args[1].len);
        else
            resp_write_simple(call->out, "PONG");
    }
    return DISPATCH_REPLIED;
}

enum dispatch_status command_echo(struct call *call)
{
    resp_write_bulk(call->out, call->args[1].data, call->args[1].len);
    return DISPATCH_REPLIED;
}

enum dispatch_status command_quit(struct call *call)
{
    (void)command_ok(call);
    return DISPATCH_CLOSE;
}

static void forget_multi(struct session *session)
{
    session->in_multi = false;
    session->multi_failed = false;
    session->multi_count = 0;
    buffer_finish(&session->multi);
}

enum dispatch_status command_reset(struct call *call)
{
    struct session *session = call->session;
    forget_multi(session);
    session->resp3 = false;
    session->authenticated = call->dispatch->auth == NULL;
    call->dispatch->server.set_name(call->dispatch->server.context, session, "", 0);
    resp_write_simple(call->out, "RESET");
    return DISPATCH_REPLIED;
}

/* false: the error has been replied. */
static bool authenticate(struct call *call, const struct resp_arg *user,
                         const struct resp_arg *password)
{
    const struct auth *auth = call->dispatch->auth;
    bool right = auth == NULL
                     ? user != NULL && user->len == 7 && memcmp(user->data, "default", 7) == 0
                     : auth_check(auth, user != NULL ? user->data : NULL,
                                  user != NULL ? user->len : 0, password->data, password->len);
    if (right) {
        call->session->authenticated = true;
        return true;
    }
    if (auth == NULL && user == NULL)
        (void)command_error(call, ERROR_ERR,
                            "AUTH <password> called without any password configured for the "
                            "default user. Are you sure your configuration is correct?");
    else
        (void)command_error(call, ERROR_WRONGPASS,
                            "invalid username-password pair or user is disabled.");
    return false;
}

enum dispatch_status command_auth(struct call *call)
{
    const struct resp_arg *user = call->argc == 3 ? &call->args[1] : NULL;
    if (!authenticate(call, user, &call->args[call->argc - 1]))
        return DISPATCH_REPLIED;
    return command_ok(call);
}

/* Redis' rule: printable characters without spaces. */
static bool name_ok(const struct resp_arg *name)
{
    for (size_t i = 0; i < name->len; i++)
        if (name->data[i] < '!' || name->data[i] > '~')
            return false;
    return name->len < sizeof((struct session *)0)->name;
}

static enum dispatch_status bad_name(struct call *call)
{
    return command_error(call, ERROR_ERR,
                         "Client names cannot contain spaces, newlines or special characters, or "
                         "be longer than 63 bytes.");
}

static void set_name(struct call *call, const struct resp_arg *name)
{
    call->dispatch->server.set_name(call->dispatch->server.context, call->session, name->data,
                                    name->len);
}

static void write_hello(struct call *call)
{
    struct session *session = call->session;
    resp_write_map(call->out, 7, session->resp3);
    resp_write_bulk_text(call->out, "server");
    resp_write_bulk_text(call->out, "idmint");
    resp_write_bulk_text(call->out, "version");
    resp_write_bulk_text(call->out, IDMINT_VERSION);
    resp_write_bulk_text(call->out, "proto");
    resp_write_integer(call->out, session->resp3 ? 3 : 2);
    resp_write_bulk_text(call->out, "id");
    resp_write_integer(call->out, (int64_t)session->id);
    resp_write_bulk_text(call->out, "mode");
    resp_write_bulk_text(call->out, "standalone");
    resp_write_bulk_text(call->out, "role");
    resp_write_bulk_text(
        call->out, leader_leads(call->dispatch->leader, call->now.boot_ms) ? "master" : "replica");
    resp_write_bulk_text(call->out, "modules");
    resp_write_array(call->out, 0);
}

enum dispatch_status command_hello(struct call *call)
{
    struct session *session = call->session;
    const struct resp_arg *name = NULL;
    int64_t version = session->resp3 ? 3 : 2;
    if (call->argc > 1) {
        if (!resp_parse_integer(call->args[1].data, call->args[1].len, &version))
            return command_error(call, ERROR_ERR,
                                 "Protocol version is not an integer or out of range");
        if (version != 2 && version != 3)
            return command_error(call, ERROR_NOPROTO, "unsupported protocol version");
    }
    for (size_t i = 2; i < call->argc; i++) {
        if (command_arg_is(&call->args[i], "AUTH") && i + 2 < call->argc) {
            if (!authenticate(call, &call->args[i + 1], &call->args[i + 2]))
                return DISPATCH_REPLIED;
            i += 2;
        } else if (command_arg_is(&call->args[i], "SETNAME") && i + 1 < call->argc) {
            name = &call->args[++i];
            if (!name_ok(name))
                return bad_name(call);
        } else {
            return command_error(call, ERROR_ERR, "Syntax error in HELLO option '%.*s'",
                                 (int)(call->args[i].len < 64 ? call->args[i].len : 64),
                                 call->args[i].data);
        }
    }
    if (!session->authenticated)
        return command_error(
            call, ERROR_NOAUTH,
            "HELLO must be called with the client already authenticated, otherwise "
            "the HELLO <proto> AUTH <user> <pass> option can be used to "
            "authenticate the client and select the RESP protocol version at the "
            "same time");
    if (name != NULL)
        set_name(call, name);
    session->resp3 = version == 3;
    write_hello(call);
    return DISPATCH_REPLIED;
}

enum dispatch_status command_select(struct call *call)
{
    int64_t index;
    if (!command_integer(call, &call->args[1], &index))
        return DISPATCH_REPLIED;
    if (index != 0)
        return command_error(call, ERROR_ERR, "DB index is out of range");
    return command_ok(call);
}

enum dispatch_status command_time(struct call *call)
{
    resp_write_array(call->out, 2);
    resp_write_bulk_integer(call->out, call->now.real_ms / 1000);
    resp_write_bulk_integer(call->out, call->now.real_ms % 1000 * 1000);
    return DISPATCH_REPLIED;
}

enum dispatch_status command_multi(struct call *call)
{
    if (call->session->in_multi)
        return command_error(call, ERROR_ERR, "MULTI calls can not be nested");
    call->session->in_multi = true;
    return command_ok(call);
}

enum dispatch_status command_exec(struct call *call)
{
    struct session *session = call->session;
    if (!session->in_multi)
        return command_error(call, ERROR_ERR, "EXEC without MULTI");
    if (session->multi_failed) {
        forget_multi(session);
        return command_error(call, ERROR_EXECABORT,
                             "Transaction discarded because of previous errors.");
    }
    resp_write_array(call->out, session->multi_count);
    session->in_multi = false;
    session->multi_count = 0;
    return DISPATCH_REPLAY;
}

enum dispatch_status command_discard(struct call *call)
{
    if (!call->session->in_multi)
        return command_error(call, ERROR_ERR, "DISCARD without MULTI");
    forget_multi(call->session);
    return command_ok(call);
}

enum dispatch_status command_client_id(struct call *call)
{
    resp_write_integer(call->out, (int64_t)call->session->id);
    return DISPATCH_REPLIED;
}

enum dispatch_status command_client_getname(struct call *call)
{
    if (call->session->name[0] == '\0')
        resp_write_null(call->out, call->session->resp3);
    else
        resp_write_bulk_text(call->out, call->session->name);
    return DISPATCH_REPLIED;
}

enum dispatch_status command_client_setname(struct call *call)
{
    if (!name_ok(&call->args[2]))
        return bad_name(call);
    set_name(call, &call->args[2]);
    return command_ok(call);
}

enum dispatch_status command_client_setinfo(struct call *call)
{
    if (!command_arg_is(&call->args[2], "LIB-NAME") && !command_arg_is(&call->args[2], "LIB-VER"))
        return command_error(call, ERROR_ERR, "Unrecognized option '%.*s'",
                             (int)(call->args[2].len < 64 ? call->args[2].len : 64),
                             call->args[2].data);
    return command_ok(call);
}

enum dispatch_status command_client_list(struct call *call)
{
    struct buffer lines;
    buffer_init(&lines, 0);
    call->dispatch->server.list(call->dispatch->server.context, &lines);
    resp_write_bulk(call->out, lines.data, lines.len);
    buffer_finish(&lines);
    return DISPATCH_REPLIED;
}

enum dispatch_status command_client_kill(struct call *call)
{
    const struct dispatch_server *server = &call->dispatch->server;
    const struct resp_arg *args = &call->args[2];
    if (call->argc == 3) {
        if (server->kill(server->context, 0, args[0].data, args[0].len) == 0)
            return command_error(call, ERROR_ERR, "No such client");
        return command_ok(call);
    }
    int64_t id = 0;
    const struct resp_arg *address = NULL;
    if (call->argc != 4)
        return command_syntax_error(call);
    if (command_arg_is(&args[0], "ID")) {
        if (!resp_parse_integer(args[1].data, args[1].len, &id) || id < 1)
            return command_error(call, ERROR_ERR, "client-id should be greater than 0");
    } else if (command_arg_is(&args[0], "ADDR")) {
        address = &args[1];
    } else {
        return command_syntax_error(call);
    }
    int killed = server->kill(server->context, (uint64_t)id, address != NULL ? address->data : NULL,
                              address != NULL ? address->len : 0);
    resp_write_integer(call->out, killed);
    return DISPATCH_REPLIED;
}
