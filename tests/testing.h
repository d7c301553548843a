/* testing.h - cmocka with the headers it needs before it, and nothing else */
#ifndef EARSHOT_TESTING_H
#define EARSHOT_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
