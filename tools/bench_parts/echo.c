/* A JSON-RPC server over stdio that costs next to nothing: it stands behind whatever is measured.
 *
 *     echo BODIES
 *
 * BODIES holds one JSON value a line. A request is answered with the value whose line its
 * arguments name as "pick" (the first where they name none), under the id that it carries;
 * what has no id is not answered. All lines of one read are answered with one write.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 1 << 16, LINE = 1 << 22, BODIES = 1 << 10 };

static const char HEAD[] = "{\"jsonrpc\":\"2.0\",\"id\":";
static const char MIDDLE[] = ",\"result\":";

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

static void put(const char *data, size_t size)
{
    if (used + size > room) {
        room = 2 * (used + size);
        out = realloc(out, room);
    }
    memcpy(out + used, data, size);
    used += size;
}

static void answer(const char *line, size_t size)
{
    const char *id = memmem(line, size, "\"id\":", 5);
    const char *pick = memmem(line, size, "\"pick\":", 7);
    size_t body = pick ? strtoul(pick + 7, NULL, 10) % count : 0;
    if (id == NULL)
        return;
    id += 5;
    put(HEAD, sizeof HEAD - 1);
    put(id, strcspn(id, ",}"));
    put(MIDDLE, sizeof MIDDLE - 1);
    put(bodies[body], sizes[body]);
    put("}\n", 2);
}

static void flush(void)
{
    for (size_t done = 0; done < used;) {
        ssize_t size = write(1, out + done, used - done);
        if (size < 0)
            exit(1);
        done += (size_t)size;
    }
    used = 0;
}

int main(int argc, char **argv)
{
    static char in[LINE + 1];
    size_t held = 0;
    ssize_t size;
    if (argc != 2)
        return 2;
    load(argv[1]);
    while (held < LINE && (size = read(0, in + held, held + CHUNK < LINE ? CHUNK : LINE - held)) > 0) {
        char *line = in, *end;
        held += (size_t)size;
        in[held] = 0;
        while ((end = memchr(line, '\n', held - (size_t)(line - in))) != NULL) {
            answer(line, (size_t)(end - line));
            line = end + 1;
        }
        held -= (size_t)(line - in);
        memmove(in, line, held);
        flush();
    }
    return 0;
}
