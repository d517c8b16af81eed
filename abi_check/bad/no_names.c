/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* An object without a symbol: legal in an archive. */
typedef int no_names;
