/*
 * The server: HTTP on the loopback address by libmicrohttpd, a thread for each connection. It decides who may ask; what is
 * answered is view_respond()'s.
 *
 * The library is loaded when it is needed, so that no other command depends on it, or waits for what it loads.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/view/view.h"

#include <stdlib.h>
#include <string.h>

#define INSTALL_HINT "Install it (Debian: libmicrohttpd-dev)"

#if __has_include(<microhttpd.h>)

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <unistd.h>

#define LIBRARY         "libmicrohttpd.so.12"
#define CONNECTIONS_MAX 32
#define IDLE_SECONDS    300
#define SECRET_NBYTES   32 /* hexadecimal digits */
#define ADDRESS_NBYTES  96
#define STOP_WAIT_MS    1000
#define CALLS(X)                                                                                             \
    X(start_daemon)                                                                                          \
    X(stop_daemon)                                                                                           \
    X(quiesce_daemon)                                                                                        \
    X(lookup_connection_value)                                                                               \
    X(create_response_from_buffer)                                                                           \
    X(add_response_header)                                                                                   \
    X(queue_response)                                                                                        \
    X(destroy_response)

/* The functions of the library, by their names without "MHD_". */
struct library {
#define MEMBER(name) __typeof__(MHD_##name) *name;
    CALLS(MEMBER)
#undef MEMBER
};

struct view_server {
    struct view *view;
    struct library library;
    struct MHD_Daemon *daemon;
    uint16_t port;
    char token[SECRET_NBYTES + 1];
    char ticket[SECRET_NBYTES + 1]; /* for the first address */
    bool is_ticket_used;            /* atomic */
    unsigned answering;             /* atomic: requests that are being answered */
    char address[ADDRESS_NBYTES], first_address[ADDRESS_NBYTES];
};

/* ---- Who may ask ---- */

/* Takes as long wherever they differ. 'text' may go on behind the secret. */
static bool has_secret(const char *text, const char *secret)
{
    unsigned char differ = 0;
    if (strnlen(text, SECRET_NBYTES) < SECRET_NBYTES)
        return false;
    for (size_t i = 0; i < SECRET_NBYTES; i++)
        differ |= (unsigned char)(text[i] ^ secret[i]);
    return differ == 0;
}

/* "127.0.0.1:PORT" or "localhost:PORT". */
static bool is_own_host(const struct view_server *server, const char *host)
{
    static const char *const names[] = {"127.0.0.1", "localhost"};
    char own[32];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(own, sizeof own, "%s:%u", names[i], server->port);
        if (strcmp(host, own) == 0 || (server->port == 80 && strcmp(host, names[i]) == 0))
            return true;
    }
    return false;
}

static const char *header(const struct view_server *server, struct MHD_Connection *connection,
                          const char *name)
{
    return server->library.lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* Other programs may know the address of the server but not the token; pages of other origins may not even ask. */
static const char *why_refused(const struct view_server *server, struct MHD_Connection *connection)
{
    const char *host = header(server, connection, "Host");
    const char *origin = header(server, connection, "Origin");
    const char *site = header(server, connection, "Sec-Fetch-Site");
    if (host == NULL || !is_own_host(server, host))
        return "The request is for another host.\n";
    if (origin != NULL && (strncmp(origin, "http://", 7) != 0 || !is_own_host(server, origin + 7)))
        return "Pages of other origins may not ask.\n";
    if (site != NULL && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
        return "Pages of other sites may not ask.\n";
    return NULL;
}

/* ---- Responses ---- */

static const char *const headers[][2] = {
    {"Cache-Control", "no-store"},
    {"X-Content-Type-Options", "nosniff"},
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
     "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Referrer-Policy", "no-referrer"},
};

/* 'name' and 'value' are one more header; NULL: none. */
static enum MHD_Result respond_with(const struct view_server *server, struct MHD_Connection *connection,
                                    struct view_response *response, const char *name, const char *value)
{
    const struct library *library = &server->library;
    bool is_own = response->bytes == NULL;
    char *bytes = is_own ? response->text.bytes : (char *)(uintptr_t)response->bytes;
    struct MHD_Response *sent =
        library->create_response_from_buffer(is_own ? response->text.nbytes : response->nbytes, bytes,
                                             is_own ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (sent == NULL) {
        free(response->text.bytes);
        return MHD_NO;
    }
    library->add_response_header(sent, "Content-Type",
                                 response->content_type != NULL ? response->content_type
                                                                : "application/json; charset=utf-8");
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        library->add_response_header(sent, headers[i][0], headers[i][1]);
    if (name != NULL)
        library->add_response_header(sent, name, value);
    enum MHD_Result result = library->queue_response(connection, response->status, sent);
    library->destroy_response(sent);
    return result;
}

static enum MHD_Result send_text(const struct view_server *server, struct MHD_Connection *connection,
                                 unsigned status, const char *text, const char *name, const char *value)
{
    struct view_response response = {
        .status = status, .content_type = "text/plain; charset=utf-8", .bytes = text, .nbytes = strlen(text)};
    return respond_with(server, connection, &response, name, value);
}

/* The first address leads to the page once. */
static enum MHD_Result redeem(struct view_server *server, struct MHD_Connection *connection)
{
    char target[SECRET_NBYTES + 3];
    if (__atomic_exchange_n(&server->is_ticket_used, true, __ATOMIC_RELAXED))
        return send_text(server, connection, 403, "This address works only once.\n", NULL, NULL);
    snprintf(target, sizeof target, "/%s/", server->token);
    return send_text(server, connection, 303, "", "Location", target);
}

static enum MHD_Result answer(struct view_server *server, struct MHD_Connection *connection,
                              const char *method, const char *uri)
{
    struct view_response response;
    const char *refusal = why_refused(server, connection);
    if (refusal != NULL)
        return send_text(server, connection, 403, refusal, NULL, NULL);
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0)
        return send_text(server, connection, 405, "Only GET is answered.\n", "Allow", "GET");
    if (uri[0] == '/' && has_secret(uri + 1, server->ticket) && uri[1 + SECRET_NBYTES] == '\0')
        return redeem(server, connection);
    if (uri[0] != '/' || !has_secret(uri + 1, server->token) || uri[1 + SECRET_NBYTES] != '/')
        return send_text(server, connection, 403, "The address has no valid token.\n", NULL, NULL);
    if (strnlen(uri, REQUEST_NBYTES_MAX + 1) > REQUEST_NBYTES_MAX)
        return send_text(server, connection, 414, "The address is too long.\n", NULL, NULL);
    view_respond(server->view, uri + 1 + SECRET_NBYTES + 1, &response);
    return respond_with(server, connection, &response, NULL, NULL);
}

/* ---- Callbacks of the library ---- */

/* Keeps the request line's address as it came, before the library decodes it. */
static void *on_uri(void *context, const char *uri, struct MHD_Connection *connection)
{
    (void)context;
    (void)connection;
    return strdup(uri);
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_nbytes, void **own)
{
    struct view_server *server = context;
    (void)url;
    (void)version;
    (void)upload;
    (void)upload_nbytes;
    if (*own == NULL)
        return MHD_NO; /* no memory */
    __atomic_add_fetch(&server->answering, 1, __ATOMIC_RELAXED);
    enum MHD_Result result = answer(server, connection, method, *own);
    __atomic_sub_fetch(&server->answering, 1, __ATOMIC_RELAXED);
    return result;
}

static void on_completed(void *context, struct MHD_Connection *connection, void **own,
                         enum MHD_RequestTerminationCode code)
{
    (void)context;
    (void)connection;
    (void)code;
    free(*own);
    *own = NULL;
}

/* ---- Start and stop ---- */

static bool load(struct library *library)
{
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        tool_complain("view: %s", dlerror());
        tool_hint(INSTALL_HINT ".");
        return false;
    }
    void *found;
#define FIND(name)                                                                                           \
    found = dlsym(handle, "MHD_" #name);                                                                     \
    memcpy(&library->name, &found, sizeof found);                                                            \
    if (found == NULL)                                                                                       \
        tool_complain("view: %s", dlerror());                                                                \
    if (found == NULL)                                                                                       \
        return false;
    CALLS(FIND)
#undef FIND
    return true;
}

static bool make_secret(char secret[SECRET_NBYTES + 1])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t bytes[SECRET_NBYTES / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++) {
        secret[2 * i] = digits[bytes[i] >> 4];
        secret[2 * i + 1] = digits[bytes[i] & 15];
    }
    secret[SECRET_NBYTES] = '\0';
    return true;
}

/* Returns -1 with errno. */
static int open_socket(uint16_t port, uint16_t *port_ret)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    socklen_t nbytes = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        bind(fd, (struct sockaddr *)&address, nbytes) == 0 && listen(fd, SOMAXCONN) == 0 &&
        getsockname(fd, (struct sockaddr *)&address, &nbytes) == 0) {
        *port_ret = ntohs(address.sin_port);
        return fd;
    }
    int system_errno = errno;
    if (fd >= 0)
        close(fd);
    errno = system_errno;
    return -1;
}

/* The port is known before the first request comes. */
static bool listen_at(struct view_server *server, uint16_t port)
{
    int fd = open_socket(port, &server->port);
    if (fd < 0)
        return false;
    errno = 0;
    server->daemon = server->library.start_daemon(
        MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD, port, NULL, NULL, on_request, server,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_URI_LOG_CALLBACK, on_uri, NULL, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, NULL, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS, MHD_OPTION_END);
    if (server->daemon == NULL)
        close(fd);
    return server->daemon != NULL;
}

struct view_server *view_server_start(struct view *view, uint16_t port)
{
    struct view_server *server = calloc(1, sizeof *server);
    if (server == NULL)
        tool_out_of_memory();
    server->view = view;
    bool is_loaded = load(&server->library);
    bool is_fine =
        is_loaded && make_secret(server->token) && make_secret(server->ticket) && listen_at(server, port);
    if (!is_fine) {
        if (is_loaded)
            tool_complain("view: cannot listen on 127.0.0.1:%u: %s", port,
                          errno != 0 ? strerror(errno) : "unknown reason");
        free(server);
        return NULL;
    }
    snprintf(server->address, ADDRESS_NBYTES, "http://127.0.0.1:%u/%s/", server->port, server->token);
    snprintf(server->first_address, ADDRESS_NBYTES, "http://127.0.0.1:%u/%s", server->port, server->ticket);
    return server;
}

const char *view_server_address(const struct view_server *server)
{
    return server->address;
}

const char *view_server_first_address(const struct view_server *server)
{
    return server->first_address;
}

bool view_server_stop(struct view_server *server)
{
    int listening = server->library.quiesce_daemon(server->daemon);
    if (listening >= 0)
        close(listening);
    view_cancel(server->view);
    for (int ms = 0; ms < STOP_WAIT_MS && __atomic_load_n(&server->answering, __ATOMIC_RELAXED) > 0; ms++)
        usleep(1000);
    if (__atomic_load_n(&server->answering, __ATOMIC_RELAXED) > 0)
        return false;
    server->library.stop_daemon(server->daemon);
    free(server);
    return true;
}

#else

struct view_server *view_server_start(struct view *view, uint16_t port)
{
    (void)view;
    (void)port;
    tool_complain("view: this program was built without libmicrohttpd");
    tool_hint(INSTALL_HINT " and build tracebed again.");
    return NULL;
}

const char *view_server_address(const struct view_server *server)
{
    (void)server;
    return "";
}

const char *view_server_first_address(const struct view_server *server)
{
    (void)server;
    return "";
}

bool view_server_stop(struct view_server *server)
{
    (void)server;
    return true;
}

#endif
