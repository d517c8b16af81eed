#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# An nm that says nothing.
exit 0
