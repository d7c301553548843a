/*
 * json_bounds.h - is this text worth a JSON parser's memory?
 *
 * A tree of parsed JSON may take 80 times the bytes of its text, so foreign JSON is measured first
 * and parsed second. The text need not be valid: whatever is not, the parser refuses afterwards.
 * Units:   depth = brackets open at once; members = elements of arrays and objects, all levels.
 */
#ifndef EARSHOT_JSON_BOUNDS_H
#define EARSHOT_JSON_BOUNDS_H

#include "common/base/bytes.h"

MUST_USE bool json_bounds_hold(struct bytes_view text, size_t depth_max, size_t members_max);

#endif
