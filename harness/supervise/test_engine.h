/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * test_engine.h - the files of --test-engine: each gives gte_register to the
 * artifacts of its own kind (harness/engine/README.md).
 */
#ifndef SUPERVISE_TEST_ENGINE_H
#define SUPERVISE_TEST_ENGINE_H

#include "subject.h"

/*
 * Reads the files and sets test_engine of each subject that one is for. Quits
 * with EXIT_USAGE and one line for a file that cannot be a library here, has
 * no gte_register, or is for no subject.
 */
void test_engines_read(const struct strings *paths, struct subject *subjects,
                       size_t count);

#endif /* SUPERVISE_TEST_ENGINE_H */
