/* udp_drops.c - see udp_drops.h */
#include "tests/bench/udp_drops.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LINE_CAP 256

/* A line begins with "sl: ADDRESS:PORT", in hex, and ends with the drops. */
uint64_t udp_drops(uint16_t first, uint16_t last)
{
    char line[LINE_CAP];
    uint64_t sum = 0;
    FILE *file = fopen("/proc/self/net/udp", "r");
    assert(file != NULL);
    while (fgets(line, sizeof(line), file) != NULL) {
        unsigned port = 0;
        uint64_t drops = 0;
        line[strcspn(line, "\n")] = '\0';
        char *end = line + strlen(line);
        while (end > line && end[-1] == ' ') {
            *--end = '\0';
        }
        const char *last_word = strrchr(line, ' ');
        if (sscanf(line, " %*d: %*8x:%4x", &port) == 1 && last_word != NULL && port >= first &&
            port <= last && sscanf(last_word, "%" SCNu64, &drops) == 1) {
            sum += drops;
        }
    }
    (void)fclose(file);
    return sum;
}
