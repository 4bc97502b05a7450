/* A JSON-RPC server over stdio that costs next to nothing: it stands behind whatever is measured.
 *
 *     echo BODIES
 *
 * What it answers is told in answers.h. All lines of one read are answered with one write.
 */
#include "answers.h"

enum { LINE = 1 << 22 };

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
            if (answer(line, (size_t)(end - line)))
                say("\n");
            line = end + 1;
        }
        held -= (size_t)(line - in);
        memmove(in, line, held);
        if (!flush(1))
            return 1;
    }
    return 0;
}
