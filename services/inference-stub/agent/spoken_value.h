/*
 * spoken_value.h - JSON as a person would say it
 *
 *   {"time":"16:41","dice":[3,5],"is_late":false}     time 16:41, dice 3, 5, is late no
 *
 * Takes:   the output of a tool: foreign text of any shape.
 * Gives:   words without brackets and quotes.
 * Fails:   false when text is no JSON, has no value to say, or is too deep or too long: say it as
 *          it is then.
 */
#ifndef EARSHOT_SPOKEN_VALUE_H
#define EARSHOT_SPOKEN_VALUE_H

#include <stdbool.h>
#include <stddef.h>

bool spoken_value_write(const char *text, char *out, size_t cap);

#endif
