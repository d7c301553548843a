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

/* How foreign JSON is written again, by jansson: with all 17 digits of a double 0.6 would come back
 * as 0.59999999999999998. */
#define JSON_TEXT_FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(15))

MUST_USE bool json_bounds_hold(struct bytes_view text, size_t depth_max, size_t members_max);

#endif
