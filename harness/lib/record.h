/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CONFORM_RECORD_H
#define CONFORM_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "conform.h"

/*
 * Makes a completion of the words of a record [i4.pipe-record]; from_ring is
 * left false. Fails the case when the record is not sound: no ticket, a length
 * over 48. Words behind an inline record's end are not looked at.
 */
void record_decode(const uint64_t *words, struct completion *completion);

/* Bytes of the padded result of an inline record. */
uint64_t record_padded(uint64_t len);

#endif /* CONFORM_RECORD_H */
