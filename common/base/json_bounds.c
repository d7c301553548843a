/* json_bounds.c - see json_bounds.h */
#include "common/base/json_bounds.h"

/* The offset of the quote that ends a string whose first character is at offset, or of the end. */
static size_t string_end(struct bytes_view text, size_t offset)
{
    while (offset < text.len && text.data[offset] != '"') {
        offset += text.data[offset] == '\\' ? 2 : 1;
    }
    return offset;
}

bool json_bounds_hold(struct bytes_view text, size_t depth_max, size_t members_max)
{
    size_t depth = 0;
    size_t members = 0;
    for (size_t i = 0; i < text.len; i++) {
        switch (text.data[i]) {
        case '"':
            i = string_end(text, i + 1);
            break;
        case '{':
        case '[':
            depth++;
            members++; /* its first element, if it has one */
            break;
        case '}':
        case ']':
            depth -= depth > 0;
            break;
        case ',':
            members++;
            break;
        default:
            break;
        }
        if (depth > depth_max || members > members_max) {
            return false;
        }
    }
    return true;
}
