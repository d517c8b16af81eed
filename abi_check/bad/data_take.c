/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The right name, but data: a host that calls it jumps into a string. */
extern const char gusset_take[];
const char gusset_take[] = "not a function";
