#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# An nm that lists everything and fails.
nm "$@"
exit 3
