/* An MCP server that costs next to nothing, over stdio or over Streamable HTTP.
 *
 *     echo BODIES [PORT]
 *
 * BODIES holds one JSON value a line. A request is answered with the value whose line its arguments
 * name as "pick" (the first by default). Over HTTP, at 127.0.0.1, `initialize` is answered with a
 * session id, which all later requests must carry; a call of "follow" with a stream of events,
 * progress with the first write and the answer with the second; other requests with JSON,
 * notifications with 202, other methods than POST with 405. A body must have a Content-Length. The
 * server ends when its stdin ends.
 */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CHUNK = 1 << 16, BODIES = 1 << 10 };

static char *bodies[BODIES];
static size_t sizes[BODIES];
static size_t count;
static char *out;
static size_t used, room;

static void load(const char *path)
{
    FILE *file = fopen(path, "r");
    size_t space = 0;
    ssize_t size;
    if (file == NULL)
        exit(2);
    while (count < BODIES && (size = getline(&bodies[count], &space, file)) > 0) {
        sizes[count++] = (size_t)size - 1;
        space = 0;
    }
    fclose(file);
}

static void put(const void *data, size_t size)
{
    if (used + size > room) {
        room = 2 * (used + size);
        out = realloc(out, room);
    }
    memcpy(out + used, data, size);
    used += size;
}

static void put_text(const char *text)
{
    put(text, strlen(text));
}

/* The start of the value of a member, given as in "\"id\":"; NULL without it. */
static const char *value(const char *message, size_t size, const char *name)
{
    const char *found = memmem(message, size, name, strlen(name));
    return found ? found + strlen(name) : NULL;
}

static void put_value(const char *start)
{
    put(start, strcspn(start, ",}"));
}

/* Puts the answer, without a line end; 0 for a notification. */
static int answer(const char *message, size_t size)
{
    const char *id = value(message, size, "\"id\":");
    const char *pick = value(message, size, "\"pick\":");
    size_t body = pick ? strtoul(pick, NULL, 10) % count : 0;
    if (id == NULL)
        return 0;
    put_text("{\"jsonrpc\":\"2.0\",\"id\":");
    put_value(id);
    put_text(",\"result\":");
    put(bodies[body], sizes[body]);
    put_text("}");
    return 1;
}

/* Writes what was put; 0 if the other side has closed. */
static int flush(int to)
{
    size_t done = 0;
    ssize_t size = 1;
    while (done < used && size > 0)
        if ((size = write(to, out + done, used - done)) > 0)
            done += (size_t)size;
    used = 0;
    return size > 0;
}

enum { INPUT, LISTENER, FIRST, ENDS = 256, REQUEST = 1 << 20, LINE = 1 << 22 };

static struct pollfd ends[ENDS];
static char *held[ENDS]; /* the beginning of a request, of each end */
static size_t sizes_held[ENDS];

/* Inserts `text` before what was put since `start`. */
static void insert(size_t start, const char *text)
{
    size_t size = strlen(text), moved = used - start;
    put(text, size);
    memmove(out + start + size, out + start, moved);
    memcpy(out + start, text, size);
}

static void answer_whole(const char *message, size_t size)
{
    char length[64];
    size_t start = used;
    answer(message, size);
    snprintf(length, sizeof length, "Content-Length: %zu\r\n\r\n", used - start);
    insert(start, length);
}

/* Makes what was put since `start` an event in a chunk. */
static void make_event(size_t start)
{
    char length[32];
    insert(start, "event: message\r\ndata: ");
    put_text("\r\n\r\n");
    snprintf(length, sizeof length, "%zx\r\n", used - start);
    insert(start, length);
    put_text("\r\n");
}

static int answer_stream(int to, const char *message, size_t size)
{
    const char *token = value(message, size, "\"progressToken\":");
    size_t start;
    put_text("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
        "Cache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n");
    if (token != NULL) {
        start = used;
        put_text("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":"
            "{\"progressToken\":");
        put_value(token);
        put_text(",\"progress\":1,\"total\":2}}");
        make_event(start);
        if (!flush(to))
            return 0;
    }
    start = used;
    answer(message, size);
    make_event(start);
    put_text("0\r\n\r\n");
    return flush(to);
}

static int respond(int to, const char *head, const char *message, size_t size)
{
    int opens = value(message, size, "\"method\":\"initialize\"") != NULL;
    if (strncmp(head, "POST ", 5) != 0)
        put_text("HTTP/1.1 405 Method Not Allowed\r\nAllow: POST\r\nContent-Length: 0\r\n\r\n");
    else if (!opens && strcasestr(head, "\r\nmcp-session-id:") == NULL)
        put_text("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    else if (value(message, size, "\"id\":") == NULL)
        put_text("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
    else if (value(message, size, "\"name\":\"follow\"") != NULL)
        return answer_stream(to, message, size);
    else {
        put_text("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n");
        if (opens)
            put_text("Mcp-Session-Id: 5f1d7a0e-bench\r\n");
        answer_whole(message, size);
    }
    return flush(to);
}

/* Answers the complete requests of an end; 0 if it must be closed. */
static int serve(size_t i)
{
    char *in = held[i], *body;
    ssize_t size = read(ends[i].fd, in + sizes_held[i], REQUEST - sizes_held[i]);
    if (size <= 0)
        return 0;
    sizes_held[i] += (size_t)size;
    in[sizes_held[i]] = 0;
    while ((body = strstr(in, "\r\n\r\n")) != NULL) {
        const char *field;
        size_t length = 0, whole;
        *body = 0;
        field = strcasestr(in, "\r\ncontent-length:");
        if (field != NULL)
            length = strtoul(field + strlen("\r\ncontent-length:"), NULL, 10);
        whole = (size_t)(body - in) + 4 + length;
        if (whole > sizes_held[i]) {
            *body = '\r';
            return whole < REQUEST;
        }
        if (!respond(ends[i].fd, in, body + 4, length))
            return 0;
        sizes_held[i] -= whole;
        memmove(in, in + whole, sizes_held[i] + 1);
    }
    return 1;
}

static size_t take(size_t here)
{
    int on = 1, fd = accept(ends[LISTENER].fd, NULL, NULL);
    if (fd < 0 || here == ENDS) {
        close(fd);
        return here;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ends[here] = (struct pollfd){.fd = fd, .events = POLLIN};
    sizes_held[here] = 0;
    if (held[here] == NULL)
        held[here] = malloc(REQUEST + 1);
    return here + 1;
}

/* Closes an end; the last one takes its place. */
static void leave(size_t i, size_t last)
{
    char *buffer = held[i];
    close(ends[i].fd);
    ends[i] = ends[last];
    held[i] = held[last];
    sizes_held[i] = sizes_held[last];
    held[last] = buffer;
}

static int listener(in_port_t port)
{
    int on = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(port)};
    socklen_t size = sizeof here;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&here, sizeof here) < 0 || listen(fd, 64) < 0)
        exit(1);
    getsockname(fd, (struct sockaddr *)&here, &size);
    fprintf(stderr, "listening on http://127.0.0.1:%d/mcp\n", ntohs(here.sin_port));
    return fd;
}

static int serve_http(in_port_t port)
{
    size_t here = FIRST;
    char ignored[64];
    signal(SIGPIPE, SIG_IGN);
    ends[INPUT] = (struct pollfd){.fd = 0, .events = POLLIN};
    ends[LISTENER] = (struct pollfd){.fd = listener(port), .events = POLLIN};
    while (poll(ends, here, -1) > 0) {
        for (size_t i = here; i-- > FIRST;)
            if (ends[i].revents && !serve(i))
                leave(i, --here);
        if (ends[LISTENER].revents)
            here = take(here);
        if (ends[INPUT].revents && read(0, ignored, sizeof ignored) <= 0)
            return 0;
    }
    return 1;
}

/* All lines of one read are answered with one write. */
static int serve_stdio(void)
{
    static char in[LINE + 1];
    size_t size_held = 0;
    ssize_t size;
    while (size_held < LINE
           && (size = read(0, in + size_held, size_held + CHUNK < LINE ? CHUNK : LINE - size_held)) > 0) {
        char *line = in, *end;
        size_held += (size_t)size;
        in[size_held] = 0;
        while ((end = memchr(line, '\n', size_held - (size_t)(line - in))) != NULL) {
            if (answer(line, (size_t)(end - line)))
                put_text("\n");
            line = end + 1;
        }
        size_held -= (size_t)(line - in);
        memmove(in, line, size_held);
        if (!flush(1))
            return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    load(argv[1]);
    return argc == 2 ? serve_stdio() : serve_http((in_port_t)atoi(argv[2]));
}
