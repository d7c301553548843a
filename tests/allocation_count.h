/*
 * allocation_count.h - how often this process has asked for memory
 *
 * Defines malloc, calloc and realloc for the program that includes it, in one of its files. Under a
 * sanitizer they are the sanitizer's: ALLOCATIONS_ARE_COUNTED is 0, and the count stays 0.
 */
#ifndef EARSHOT_ALLOCATION_COUNT_H
#define EARSHOT_ALLOCATION_COUNT_H

#include <stddef.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ALLOCATIONS_ARE_COUNTED 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ALLOCATIONS_ARE_COUNTED 0
#endif
#endif
#ifndef ALLOCATIONS_ARE_COUNTED
#define ALLOCATIONS_ARE_COUNTED 1
#endif

static size_t allocation_count;

#if ALLOCATIONS_ARE_COUNTED
/* glibc's own, under the name that an interposing malloc may call. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

__attribute__((visibility("default"))) void *malloc(size_t size)
{
    allocation_count++;
    return __libc_malloc(size);
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t size)
{
    allocation_count++;
    return __libc_calloc(count, size);
}

__attribute__((visibility("default"))) void *realloc(void *old, size_t size)
{
    allocation_count++;
    return __libc_realloc(old, size);
}
#endif

#endif
