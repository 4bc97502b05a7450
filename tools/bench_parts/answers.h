/* What both servers here answer, to whomever: echo.c over stdio and http_echo.c over HTTP.
 *
 * The bodies come from a file that holds one JSON value a line. A request is answered with the
 * value whose line its arguments name as "pick" (the first where they name none), under the id
 * that it carries; what has no id is not answered. Answers are gathered in `out` until `flush`.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static void say(const char *text)
{
    put(text, strlen(text));
}

/* Where the value of the member starts that `name` begins, as in "\"id\":"; NULL without it. */
static const char *value(const char *message, size_t size, const char *name)
{
    const char *found = memmem(message, size, name, strlen(name));
    return found ? found + strlen(name) : NULL;
}

static void say_value(const char *start)
{
    put(start, strcspn(start, ",}"));
}

/* Puts the answer, without a line end; 0 if there is none. */
static int answer(const char *message, size_t size)
{
    const char *id = value(message, size, "\"id\":");
    const char *pick = value(message, size, "\"pick\":");
    size_t body = pick ? strtoul(pick, NULL, 10) % count : 0;
    if (id == NULL)
        return 0;
    say("{\"jsonrpc\":\"2.0\",\"id\":");
    say_value(id);
    say(",\"result\":");
    put(bodies[body], sizes[body]);
    say("}");
    return 1;
}

/* Writes all that was put; 0 if the other side is gone. */
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
