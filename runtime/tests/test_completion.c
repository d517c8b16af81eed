/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Completion records, and that a record and its stored result agree. */
#include <string.h>

#include "completion.h"
#include "ring.h"
#include "t.h"

#define OP_NOTHING 0x2001
#define OP_SIZED 0x2002
#define TICKET UINT64_C(0x123456789ABCDE)

START_TEST(a_bare_record_is_the_ticket)
{
    uint64_t record[GST_RECORD_WORDS];

    memset(record, 0xFF, sizeof record);
    ck_assert_uint_eq(gst__record_build(record, TICKET, NULL, 0), 1);
    ck_assert_uint_eq(record[0], TICKET);
}
END_TEST

/* Every length: words, length, bytes, and zeros up to a multiple of 8. */
START_TEST(an_inline_record_is_padded_with_zeros)
{
    uint64_t record[GST_RECORD_WORDS];
    uint8_t bytes[GUSSET_INLINE_RESULT_MAX];
    const uint8_t *body = (const uint8_t *)&record[2];
    size_t len = (size_t)_i;
    size_t padded = (len + 7) / 8 * 8;
    size_t i;

    memset(bytes, 0xA5, sizeof bytes);
    memset(record, 0xFF, sizeof record);
    ck_assert_uint_eq(gst__record_build(record, TICKET, bytes, len),
                      2 + padded / 8);
    ck_assert_uint_eq(record[0], TICKET | GUSSET_INLINE_RECORD_FLAG);
    ck_assert_uint_eq(record[1], len);
    for (i = 0; i < padded; i++)
        ck_assert_uint_eq(body[i], i < len ? 0xA5 : 0);
    ck_assert_uint_le((2 + padded / 8) * 8, GUSSET_INLINE_RECORD_MAX);
}
END_TEST

static int32_t
nothing_handler(gse_call *call, void *user)
{
    (void)call;
    (void)user;
    return GSE_OK;
}

/* An output of as many bytes as the first input byte says. */
static int32_t
sized_handler(gse_call *call, void *user)
{
    uint8_t bytes[256];
    size_t len;
    const uint8_t *input = gse_input(call, &len);

    (void)user;
    memset(bytes, 0x77, sizeof bytes);
    return gse_output_bytes(call, bytes, len > 0 ? input[0] : 0);
}

/* What the host sees of one job, by record or by take. */
static void
expect_outcome(GussetHandle *handle, const struct t_pipe *pipe, uint64_t ticket,
               size_t expected)
{
    uint64_t word = t_pipe_ticket(pipe);
    uint64_t id = 1;
    uint8_t *bytes = NULL;
    size_t len = SIZE_MAX;
    size_t i;
    int32_t code;

    ck_assert_uint_eq(word & ~GUSSET_INLINE_RECORD_FLAG, ticket);
    code = gusset_take(handle, ticket, &id, &bytes, &len, NULL);
    if ((word & GUSSET_INLINE_RECORD_FLAG) != 0) {
        ck_assert_uint_le(expected, GUSSET_INLINE_RESULT_MAX);
        ck_assert_int_eq(code, FFI_ERR);
        return;
    }
    ck_assert_msg(code == FFI_OK, "a bare ticket's take gave %d", (int)code);
    ck_assert_uint_eq(len, expected);
    ck_assert_int_eq(bytes == NULL, expected == 0);
    ck_assert_int_eq(id == 0, expected == 0);
    for (i = 0; i < len; i++)
        ck_assert_uint_eq(bytes[i], 0x77);
}

/* A bare ticket can be taken, an inline one cannot, for every output. */
START_TEST(a_record_and_its_result_agree)
{
    static const uint8_t sizes[] = {0, 1, 7, 8, 47, 48, 49, 64, 255};
    bool inline_flag = _i % 2 == 1;
    struct t_pipe pipe = t_pipe_new();
    GussetHandle *handle = t_open(&pipe, 1);
    CallHeader header = {.flags =
                             inline_flag ? GUSSET_FLAG_INLINE_COMPLETION : 0};
    uint64_t ticket;
    size_t i;

    ck_assert_int_eq(gse_register_opcode(OP_NOTHING, nothing_handler, NULL),
                     GSE_OK);
    ck_assert_int_eq(gse_register_opcode(OP_SIZED, sized_handler, NULL),
                     GSE_OK);
    header.reserved = OP_NOTHING;
    ck_assert_int_eq(gusset_submit(handle, &header, NULL, 0, 0, &ticket, NULL),
                     FFI_OK);
    expect_outcome(handle, &pipe, ticket, 0);
    header.reserved = OP_SIZED;
    for (i = 0; i < sizeof sizes; i++) {
        ck_assert_int_eq(
            gusset_submit(handle, &header, &sizes[i], 1, 0, &ticket, NULL),
            FFI_OK);
        expect_outcome(handle, &pipe, ticket, sizes[i]);
    }
    t_close(handle);
    t_pipe_drop(&pipe, false);
}
END_TEST

Suite *
t_suite(void)
{
    Suite *suite = suite_create("completion");
    TCase *tcase = t_case(suite, "completion");

    tcase_add_test(tcase, a_bare_record_is_the_ticket);
    tcase_add_loop_test(tcase, an_inline_record_is_padded_with_zeros, 0,
                        GUSSET_INLINE_RESULT_MAX + 1);
    tcase_add_loop_test(tcase, a_record_and_its_result_agree, 0, 2);
    return suite;
}
