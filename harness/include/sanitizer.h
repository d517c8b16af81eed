/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * sanitizer.h - which sanitizer the including file is compiled with, for the
 * few places where one changes what can be seen from inside.
 */
#ifndef CONFORM_SANITIZER_H
#define CONFORM_SANITIZER_H

#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ADDRESS_SANITIZER true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ADDRESS_SANITIZER true
#endif
#endif
#ifndef UNDER_ADDRESS_SANITIZER
#define UNDER_ADDRESS_SANITIZER false
#endif

#if defined(__SANITIZE_THREAD__)
#define UNDER_THREAD_SANITIZER true
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_THREAD_SANITIZER true
#endif
#endif
#ifndef UNDER_THREAD_SANITIZER
#define UNDER_THREAD_SANITIZER false
#endif

#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#define UNDER_MEMORY_SANITIZER true
#endif
#endif
#ifndef UNDER_MEMORY_SANITIZER
#define UNDER_MEMORY_SANITIZER false
#endif

/* One that keeps memory of its own beside the program's. */
#define UNDER_SANITIZER                                   \
    (UNDER_ADDRESS_SANITIZER || UNDER_THREAD_SANITIZER || \
     UNDER_MEMORY_SANITIZER)

#endif /* CONFORM_SANITIZER_H */
