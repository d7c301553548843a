/* status.c - see status.h */
#include "common/base/status.h"

#include <stdarg.h>
#include <stdio.h>

bool fault_set(struct fault *fault, enum fault_code code, const char *format, ...)
{
    if (fault != NULL) {
        fault->code = code;
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(fault->text, sizeof(fault->text), format, arguments);
        va_end(arguments);
    }
    return false;
}
