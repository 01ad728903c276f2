#include "play/web.h"

#include <arpa/inet.h>
#include <libwebsockets.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHUNK 16384
#define TIMEOUT_S 10    /* for a request that does not come to its end */
#define HELD_BACK 16384 /* bytes in the kernel; a frame of two robots has 1.7 kB */
#define CONNECTIONS 128 /* viewers and requests together */

typedef struct {
    int viewer; /* plus 1; 0: a request */
    char *in;   /* WEB_MESSAGE: the message as far as it has come */
    size_t got;
    web_reply reply;
    size_t sent;
} session;

struct web {
    web_options options;
    struct lws_context *context;
    struct lws_vhost *host;
    struct lws_protocols protocols[2];
    char name[256]; /* of this machine */
    struct lws *viewers[WEB_VIEWERS];
    int connections;
    lws_sorted_usec_list_t timer;
    unsigned char out[LWS_PRE + WEB_MESSAGE];
};

/* ---- Which requests are served ---- */

/* "localhost:8080" without its port. */
static void host_only(char *out, size_t size, const char *host)
{
    const char *end = *host == '[' ? strchr(host, ']') : strchr(host, ':');
    size_t n = end ? (size_t)(end - host) + (*host == '[') : strlen(host);
    if (n >= size) n = 0;
    memcpy(out, host, n);
    out[n] = 0;
}

static bool is_loopback(const char *address)
{
    struct in_addr v4;
    if (!strcmp(address, "::1")) return true;
    return inet_pton(AF_INET, address, &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127;
}

/* This machine, by a name that no one else can have made to point here. */
static bool host_allowed(const web *w, const char *host)
{
    char name[256], bare[256];
    struct in_addr v4;
    struct in6_addr v6;
    host_only(name, sizeof name, host);
    snprintf(bare, sizeof bare, "%.*s", (int)(*name == '[' ? strlen(name) - 2 : strlen(name)),
             name + (*name == '['));
    if (!strcasecmp(bare, "localhost") || is_loopback(bare) || !strcmp(bare, w->options.address)) return true;
    if (is_loopback(w->options.address)) return false;
    return !strcasecmp(bare, w->name) || inet_pton(AF_INET, bare, &v4) == 1 ||
           inet_pton(AF_INET6, bare, &v6) == 1;
}

/* A page of another origin has an Origin that is not our address. */
static bool request_allowed(const web *w, struct lws *wsi)
{
    char host[256] = "", origin[300] = "", own[300];
    if (lws_hdr_copy(wsi, host, sizeof host, WSI_TOKEN_HOST) <= 0 || !host_allowed(w, host)) return false;
    if (!lws_hdr_total_length(wsi, WSI_TOKEN_ORIGIN)) return true;
    if (lws_hdr_copy(wsi, origin, sizeof origin, WSI_TOKEN_ORIGIN) <= 0) return false;
    snprintf(own, sizeof own, "http://%s", host);
    return !strcasecmp(origin, own);
}

/* ---- Requests ---- */

static void reply_free(session *s)
{
    if (s->reply.owned) free((void *)s->reply.body);
    s->reply = (web_reply){0};
    s->sent = 0;
}

static int add_header(struct lws *wsi, const char *name, const char *value, unsigned char **p,
                      unsigned char *end)
{
    return lws_add_http_header_by_name(wsi, (const unsigned char *)name, (const unsigned char *)value,
                                       (int)strlen(value), p, end);
}

static int send_head(struct lws *wsi, const web_reply *r)
{
    unsigned char head[LWS_PRE + 1024], *start = head + LWS_PRE, *p = start, *end = head + sizeof head - 1;
    char disposition[160];
    if (lws_add_http_common_headers(wsi, (unsigned)r->status, r->type, r->size, &p, end)) return -1;
    if (add_header(wsi, "cache-control:", "no-store", &p, end)) return -1;
    if (add_header(wsi, "x-content-type-options:", "nosniff", &p, end)) return -1;
    if (add_header(wsi, "x-frame-options:", "DENY", &p, end)) return -1;
    if (r->download) {
        snprintf(disposition, sizeof disposition, "attachment; filename=\"%s\"", r->download);
        if (add_header(wsi, "content-disposition:", disposition, &p, end)) return -1;
    }
    return lws_finalize_write_http_header(wsi, start, &p, end);
}

static int refuse(struct lws *wsi, unsigned status)
{
    lws_return_http_status(wsi, status, NULL);
    return -1;
}

static int answer(web *w, struct lws *wsi, session *s, const char *path)
{
    char query[256] = "";
    if (!request_allowed(w, wsi)) return refuse(wsi, HTTP_STATUS_FORBIDDEN);
    if (!lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI)) return refuse(wsi, HTTP_STATUS_METHOD_NOT_ALLOWED);
    lws_hdr_copy_fragment(wsi, query, sizeof query, WSI_TOKEN_HTTP_URI_ARGS, 0);
    reply_free(s);
    w->options.get(w->options.ctx, path, query, &s->reply);
    if (!s->reply.status) return refuse(wsi, HTTP_STATUS_NOT_FOUND);
    if (send_head(wsi, &s->reply)) return -1;
    lws_callback_on_writable(wsi);
    return 0;
}

static int send_body(web *w, struct lws *wsi, session *s)
{
    if (!s->reply.status) return 0;
    size_t left = s->reply.size - s->sent, n = left < CHUNK ? left : CHUNK;
    const bool last = n == left;
    memcpy(w->out + LWS_PRE, (const char *)s->reply.body + s->sent, n);
    if (lws_write(wsi, w->out + LWS_PRE, n, last ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) < 0) return -1;
    s->sent += n;
    if (!last) return lws_callback_on_writable(wsi) < 0;
    reply_free(s);
    return lws_http_transaction_completed(wsi) ? -1 : 0;
}

/* ---- Viewers ---- */

static void ask_all(web *w)
{
    for (int i = 0; i < WEB_VIEWERS; i++)
        if (w->viewers[i]) lws_callback_on_writable(w->viewers[i]);
}

/* What the kernel holds back for a viewer is old by the time it comes: as little as possible. */
static void hold_little(struct lws *wsi)
{
    const int bytes = HELD_BACK;
    setsockopt(lws_get_socket_fd(wsi), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

static int join(web *w, struct lws *wsi, session *s)
{
    int i = 0;
    while (i < WEB_VIEWERS && w->viewers[i]) i++;
    *s = (session){.in = i < WEB_VIEWERS ? malloc(WEB_MESSAGE) : NULL};
    if (!s->in) return -1;
    w->viewers[i] = wsi;
    s->viewer = i + 1;
    hold_little(wsi);
    w->options.join(w->options.ctx, i);
    ask_all(w);
    return 0;
}

static void leave(web *w, session *s)
{
    if (s->viewer) {
        w->viewers[s->viewer - 1] = NULL;
        w->options.leave(w->options.ctx, s->viewer - 1);
        ask_all(w);
    }
    free(s->in);
    *s = (session){0};
}

static int receive_bytes(web *w, struct lws *wsi, const session *s, const void *in, size_t n)
{
    if (w->options.bytes(w->options.ctx, s->viewer - 1, in, n)) return 0;
    lws_close_reason(wsi, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE, NULL, 0);
    return -1;
}

static int receive(web *w, struct lws *wsi, session *s, const void *in, size_t n)
{
    if (lws_frame_is_binary(wsi)) return receive_bytes(w, wsi, s, in, n);
    if (n + lws_remaining_packet_payload(wsi) > WEB_MESSAGE - s->got) {
        lws_close_reason(wsi, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE, NULL, 0);
        return -1;
    }
    memcpy(s->in + s->got, in, n);
    s->got += n;
    if (lws_remaining_packet_payload(wsi) || !lws_is_final_fragment(wsi)) return 0;
    w->options.message(w->options.ctx, s->viewer - 1, s->in, s->got);
    s->got = 0;
    ask_all(w);
    return 0;
}

static int send_next(web *w, struct lws *wsi, const session *s)
{
    bool binary = false;
    size_t n = w->options.next(w->options.ctx, s->viewer - 1, w->out + LWS_PRE, &binary);
    if (!n) return 0;
    if (lws_write(wsi, w->out + LWS_PRE, n, binary ? LWS_WRITE_BINARY : LWS_WRITE_TEXT) < 0) return -1;
    return lws_callback_on_writable(wsi) < 0;
}

/* ---- libwebsockets ---- */

static int callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t n)
{
    web *w = lws_context_user(lws_get_context(wsi));
    session *s = user;
    switch (reason) {
    case LWS_CALLBACK_FILTER_NETWORK_CONNECTION: return w->connections >= CONNECTIONS;
    case LWS_CALLBACK_WSI_CREATE: w->connections++; return 0;
    case LWS_CALLBACK_WSI_DESTROY: w->connections--; return 0;
    case LWS_CALLBACK_HTTP: return answer(w, wsi, s, in);
    case LWS_CALLBACK_HTTP_WRITEABLE: return send_body(w, wsi, s);
    case LWS_CALLBACK_CLOSED_HTTP:
        if (s) reply_free(s);
        return 0;
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION: return request_allowed(w, wsi) ? 0 : -1;
    case LWS_CALLBACK_ESTABLISHED: return join(w, wsi, s);
    case LWS_CALLBACK_RECEIVE: return receive(w, wsi, s, in, n);
    case LWS_CALLBACK_SERVER_WRITEABLE: return send_next(w, wsi, s);
    case LWS_CALLBACK_CLOSED: leave(w, s); return 0;
    case LWS_CALLBACK_EVENT_WAIT_CANCELLED: ask_all(w); return 0;
    default: return lws_callback_http_dummy(wsi, reason, user, in, n);
    }
}

hrc_status web_create(web **out, const web_options *options, hrc_error *err)
{
    web *w = calloc(1, sizeof *w);
    if (!w) return fail(err, HRC_ENOMEM, "web server: out of memory");
    w->options = *options;
    gethostname(w->name, sizeof w->name - 1);
    w->protocols[0] = (struct lws_protocols){.name = "heracles",
                                             .callback = callback,
                                             .per_session_data_size = sizeof(session),
                                             .rx_buffer_size = CHUNK};
    lws_set_log_level(0, NULL); /* only the command line prints */
    struct lws_context_creation_info info = {
        .port = options->port,
        .iface = options->address,
        .protocols = w->protocols,
        .user = w,
        .uid = (uid_t)-1,
        .gid = (gid_t)-1,
        .timeout_secs = TIMEOUT_S,
        .keepalive_timeout = TIMEOUT_S,
        .fd_limit_per_thread = CONNECTIONS + 32,
        .vhost_name = "heracles",
        .options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS | LWS_SERVER_OPTION_FAIL_UPON_UNABLE_TO_BIND |
                   (strchr(options->address, ':') ? 0 : LWS_SERVER_OPTION_DISABLE_IPV6),
    };
    w->context = lws_create_context(&info);
    w->host = w->context ? lws_create_vhost(w->context, &info) : NULL;
    if (!w->host || lws_get_vhost_listen_port(w->host) <= 0) {
        web_free(w);
        return fail(err, HRC_EFILE,
                    "cannot listen at %s, port %d: is it in use, or not an address of this machine?",
                    options->address, options->port);
    }
    *out = w;
    return HRC_OK;
}

int web_port(const web *w)
{
    return lws_get_vhost_listen_port(w->host);
}

/* So that `stop` is asked even when nothing happens. */
static void tick(lws_sorted_usec_list_t *timer)
{
    web *w = lws_container_of(timer, web, timer);
    lws_sul_schedule(w->context, 0, timer, tick, LWS_US_PER_SEC / 5);
}

void web_serve(web *w, bool (*stop)(void *), void *ctx)
{
    tick(&w->timer);
    while (!stop(ctx)) lws_service(w->context, 0);
    lws_sul_cancel(&w->timer);
}

void web_wake(web *w)
{
    lws_cancel_service(w->context);
}

void web_free(web *w)
{
    if (!w) return;
    if (w->context) lws_context_destroy(w->context);
    free(w);
}
