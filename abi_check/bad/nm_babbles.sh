#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# An nm that prints something else.
echo 'this-is-not a symbol line'
