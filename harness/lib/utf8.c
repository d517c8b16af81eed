/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "utf8.h"

/*
 * The length of the character at bytes, or 0. The second byte's range is what
 * excludes overlong forms, surrogates and what lies above U+10FFFF.
 */
static size_t
character(const uint8_t *bytes, size_t left)
{
    uint8_t lead = bytes[0];
    uint8_t low = 0x80;
    uint8_t high = 0xbf;
    size_t len;
    if (lead < 0x80) {
        return 1;
    }
    if (lead >= 0xc2 && lead <= 0xdf) {
        len = 2;
    } else if (lead >= 0xe0 && lead <= 0xef) {
        len = 3;
        low = lead == 0xe0 ? 0xa0 : 0x80;
        high = lead == 0xed ? 0x9f : 0xbf;
    } else if (lead >= 0xf0 && lead <= 0xf4) {
        len = 4;
        low = lead == 0xf0 ? 0x90 : 0x80;
        high = lead == 0xf4 ? 0x8f : 0xbf;
    } else {
        return 0;
    }
    if (left < len || bytes[1] < low || bytes[1] > high) {
        return 0;
    }
    for (size_t i = 2; i < len; i++) {
        if ((bytes[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return len;
}

size_t
utf8_first_invalid(const uint8_t *bytes, size_t len)
{
    size_t at = 0;
    while (at < len) {
        size_t step = character(bytes + at, len - at);
        if (step == 0) {
            return at;
        }
        at += step;
    }
    return len;
}
