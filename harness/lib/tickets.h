/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * tickets.h - every ticket of the process, whichever handle and whoever reads
 * it: issued once, completed at most once, its result out at most once
 * [i4.tickets, i4.exactly-once, i1.take-once]. Any thread, no lock: the book
 * must not order host threads. That nothing is missing is ledger.h's business,
 * which knows when a handle's last completion was read.
 */
#ifndef CONFORM_TICKETS_H
#define CONFORM_TICKETS_H

#include "conform.h"

/* Before the first census. */
void conform_tickets_reserve(void);

/* submit returned it with FFI_OK. */
void conform_ticket_issued(const GussetHandle *handle, uint64_t ticket);
/* It was issued by a submit that api_raw made. */
void conform_ticket_adopted(uint64_t ticket);
/* A record that names it was read from a pipe or a ring. */
void conform_ticket_completed(const struct completion *completion);
/* take gave `code`; without a status an FFI_ERR tells nothing. */
void conform_ticket_answered(const GussetHandle *handle, uint64_t ticket,
                             int32_t code, const FfiStatus *status);

/* Its result has left the library: by a take, or in its record. */
bool conform_ticket_is_out(uint64_t ticket);
/* A take without a status was answered by FFI_ERR: its result may be out. */
bool conform_ticket_is_doubtful(uint64_t ticket);

/* Fails the case for completions and results of tickets never issued. */
void conform_tickets_settle(void);

#endif /* CONFORM_TICKETS_H */
