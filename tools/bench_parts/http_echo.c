/* An MCP server over Streamable HTTP that costs next to nothing: it stands behind what is measured.
 *
 *     http_echo BODIES PORT
 *
 * It answers at 127.0.0.1 as answers.h tells: `initialize` with a session id, which all that
 * follows has to carry; a call of "follow" with a stream of events, progress with the first write
 * and the answer with the second; any other request with JSON; what is no request with 202, what
 * is no POST with 405. It goes when its stdin ends.
 *
 * Of HTTP it knows what the clients of a benchmark need: a body has a Content-Length.
 */
#include "answers.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

enum { INPUT, LISTENER, FIRST, ENDS = 256, REQUEST = 1 << 20 };

static struct pollfd ends[ENDS];
static char *held[ENDS]; /* what of a request has come, of each end */
static size_t sizes_held[ENDS];

/* What was put since `start` moves on to make room for `text`. */
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

/* What was put since `start` becomes an event, and that a chunk. */
static void make_event(size_t start)
{
    char length[32];
    insert(start, "event: message\r\ndata: ");
    say("\r\n\r\n");
    snprintf(length, sizeof length, "%zx\r\n", used - start);
    insert(start, length);
    say("\r\n");
}

static int answer_stream(int to, const char *message, size_t size)
{
    const char *token = value(message, size, "\"progressToken\":");
    size_t start;
    say("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
        "Cache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n");
    if (token != NULL) {
        start = used;
        say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":"
            "{\"progressToken\":");
        say_value(token);
        say(",\"progress\":1,\"total\":2}}");
        make_event(start);
        if (!flush(to))
            return 0;
    }
    start = used;
    answer(message, size);
    make_event(start);
    say("0\r\n\r\n");
    return flush(to);
}

static int respond(int to, const char *head, const char *message, size_t size)
{
    int opens = value(message, size, "\"method\":\"initialize\"") != NULL;
    if (strncmp(head, "POST ", 5) != 0)
        say("HTTP/1.1 405 Method Not Allowed\r\nAllow: POST\r\nContent-Length: 0\r\n\r\n");
    else if (!opens && strcasestr(head, "\r\nmcp-session-id:") == NULL)
        say("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    else if (value(message, size, "\"id\":") == NULL)
        say("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
    else if (value(message, size, "\"name\":\"follow\"") != NULL)
        return answer_stream(to, message, size);
    else {
        say("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n");
        if (opens)
            say("Mcp-Session-Id: 5f1d7a0e-bench\r\n");
        answer_whole(message, size);
    }
    return flush(to);
}

/* Answers what is whole of what an end has sent; 0 if it is to be closed. */
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

/* The last takes the place of the one that leaves. */
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

int main(int argc, char **argv)
{
    size_t here = FIRST;
    char ignored[64];
    if (argc != 3)
        return 2;
    load(argv[1]);
    signal(SIGPIPE, SIG_IGN);
    ends[INPUT] = (struct pollfd){.fd = 0, .events = POLLIN};
    ends[LISTENER] = (struct pollfd){.fd = listener((in_port_t)atoi(argv[2])), .events = POLLIN};
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
