/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the implementation declares of itself, as a case sees it, and the one
 * claim that the harness itself acts upon: with an engine of its own in place
 * of none, a submission without an opcode never reaches the diagnostic engine,
 * whatever the case thinks of what comes back.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "claims_file.h"
#include "internal.h"

/* The test engine, contract section 4. */
#define TEST_ENGINE_OPCODE UINT32_C(0x47540001)
#define TEST_ENGINE_REGISTERS 10
#define TEST_ENGINE_REMOVES 11

static json_t *claims; /* NULL: no file, hence silent about everything */
static char *texts[CLAIM_KEYS];

/* Not NULL under the claim of an own engine; shared with forked children. */
static uint32_t *left_in_child;

void
conform_claims_load(const char *path)
{
    char error[1024];
    claims = claims_file_read(path, error, sizeof error);
    if (claims == NULL) {
        fprintf(stderr, "conform: --claims %s\n", error);
        exit(CONFORM_EXIT_USAGE);
    }
    for (size_t i = 0; i < CLAIM_KEYS; i++) {
        json_t *value = json_object_get(claims, claim_keys[i].name);
        if (value == NULL) {
            continue;
        }
        texts[i] = json_is_string(value)
                       ? strdup(json_string_value(value))
                       : json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS);
        if (texts[i] == NULL) {
            fputs("conform: --claims: no memory\n", stderr);
            exit(CONFORM_EXIT_OWN_BUG);
        }
    }
}

const char *
conform_claim(const char *key)
{
    const struct claim_key *known = claims_file_key(key, strlen(key));
    if (known == NULL) {
        conform_broken("the case asks for the claim %s, which no claims file "
                       "can hold",
                       key);
    }
    return texts[known - claim_keys];
}

bool
conform_claims(const char *key, const char *value)
{
    const char *claimed = conform_claim(key);
    return claimed != NULL && strcmp(claimed, value) == 0;
}

size_t
conform_claim_count(const char *key)
{
    const json_t *value =
        conform_claim(key) == NULL ? NULL : json_object_get(claims, key);
    return json_is_array(value) ? json_array_size(value)
                                : json_object_size(value);
}

/* The n-th member of an object in the file's order, or NULL. */
static void *
member(json_t *object, size_t n)
{
    void *at = json_object_iter(object);
    while (at != NULL && n-- > 0) {
        at = json_object_iter_next(object, at);
    }
    return at;
}

const char *
conform_claim_item(const char *key, size_t i)
{
    json_t *value =
        conform_claim(key) == NULL ? NULL : json_object_get(claims, key);
    if (json_is_array(value)) {
        return json_string_value(json_array_get(value, i));
    }
    void *at = member(value, i);
    return at == NULL ? NULL : json_object_iter_key(at);
}

const char *
conform_claim_value(const char *key, size_t i)
{
    json_t *value =
        conform_claim(key) == NULL ? NULL : json_object_get(claims, key);
    void *at = member(value, i);
    return at == NULL ? NULL : json_string_value(json_object_iter_value(at));
}

/* ---- Before the body --------------------------------------------------- */

static void
need_claims_of(const char *needs)
{
    while (needs != NULL && *needs != '\0') {
        size_t len = strcspn(needs, " ");
        if (len > 6 && strncmp(needs, "claim:", 6) == 0) {
            const struct claim_key *key = claims_file_key(needs + 6, len - 6);
            if (key != NULL && conform_claim(key->name) == NULL) {
                conform_out_of_reach("silent: no claim %s", key->name);
            }
        }
        needs += len;
        needs += strspn(needs, " ");
    }
}

bool
conform_claims_own_engine(void)
{
    return conform_claims("engine", "own");
}

/* Who goes past the guard does not go past the claim. */
static __typeof__(api_raw.submit) straight_submit;

static int32_t
checked_submit(GussetHandle *handle, const CallHeader *header,
               const uint8_t *input, size_t input_len, uint64_t buffer_id,
               uint64_t *out_ticket, FfiStatus *status)
{
    conform_claims_submit_check(header, input, input_len);
    return straight_submit(handle, header, input, input_len, buffer_id,
                           out_ticket, status);
}

void
conform_claims_begin(void)
{
    const struct conform_case *declared = conform_run.declared;
    need_claims_of(declared->needs);
    if (!conform_claims_own_engine()) {
        return;
    }
    if (conform_needs(declared, "engine")) {
        conform_out_of_reach("the implementation has an engine of its own "
                             "(claim engine = own): no other can be the "
                             "global one");
    }
    if (conform_needs(declared, "claim:engine")) {
        return;
    }
    void *memory = mmap(NULL, sizeof *left_in_child, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        conform_broken("no memory that a forked child shares");
    }
    left_in_child = memory;
    straight_submit = api_raw.submit;
    api_raw.submit = checked_submit;
}

/* ---- The guard of submit under engine = own ---------------------------- */

static const char *const reasons[] = {
    NULL,
    "the implementation has an engine of its own (claim engine = own): the "
    "diagnostic engine cannot be reached",
    "the implementation has an engine of its own (claim engine = own): no "
    "unit without an opcode is left without an engine",
    "the implementation has an engine of its own (claim engine = own): the "
    "test engine cannot register another"};

/* The index of what this submission asks for in vain; 0: nothing. */
static uint32_t
in_vain(const CallHeader *header, const uint8_t *input, size_t input_len)
{
    /* Refused whoever serves it: nothing runs. */
    if (header == NULL || (header->flags & ~(DIAGNOSTIC | INLINE)) != 0) {
        return 0;
    }
    if (header->reserved == 0) {
        return (header->flags & DIAGNOSTIC) != 0 ? 1 : 2;
    }
    if (header->reserved == TEST_ENGINE_OPCODE && input != NULL &&
        input_len > 0 && input_len <= GUSSET_MAX_INLINE_INPUT &&
        (input[0] == TEST_ENGINE_REGISTERS ||
         input[0] == TEST_ENGINE_REMOVES)) {
        return 3;
    }
    return 0;
}

void
conform_claims_submit_check(const CallHeader *header, const uint8_t *input,
                            size_t input_len)
{
    uint32_t why =
        left_in_child == NULL ? 0 : in_vain(header, input, input_len);
    if (why == 0) {
        return;
    }
    if (conform_in_child()) {
        __atomic_store_n(left_in_child, why, __ATOMIC_SEQ_CST);
        conform_leave_case();
    }
    conform_out_of_reach("%s", reasons[why]);
}

void
conform_claims_heed_children(void)
{
    uint32_t why = left_in_child == NULL || conform_in_child()
                       ? 0
                       : __atomic_load_n(left_in_child, __ATOMIC_SEQ_CST);
    if (why != 0) {
        conform_out_of_reach("%s", reasons[why]);
    }
}
