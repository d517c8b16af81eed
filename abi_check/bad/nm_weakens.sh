#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# An nm that takes gusset_take for weak.
nm "$@" | sed 's/^\(gusset_take[^ ]*\) T/\1 W/'
