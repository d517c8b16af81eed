#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# An nm that lists everything and warns.
nm "$@"
echo 'nm: warning: something is odd' >&2
