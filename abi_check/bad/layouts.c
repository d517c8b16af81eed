/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Rows about the comparison of layouts: the frozen table against each of its
 * own mutations, and gusset.h as compiled against wrong headers.
 */
#include <stdio.h>
#include <string.h>

#include "abi_check/bad/refuse.h"
#include "abi_check/header_layout.h"
#include "abi_check/layout.h"

extern const struct header_layout header_layout_swapped;
extern const struct header_layout header_layout_signed_line;
extern const struct header_layout header_layout_unsigned_code;
extern const struct header_layout header_layout_const_msg;
extern const struct header_layout header_layout_plain_file;
extern const struct header_layout header_layout_integer_msg;
extern const struct header_layout header_layout_packed;
extern const struct header_layout header_layout_grown;
extern const struct header_layout header_layout_words;
extern const struct header_layout header_layout_constant;

static const struct {
    const char *input;
    const struct header_layout *header;
    enum expectation expected;
    const char *words;
} rows[] = {
    {"gusset.h", &header_layout, PASSES, NULL},
    {"swapped", &header_layout_swapped, REFUSED,
     "CallHeader.flags has offset 36"},
    {"signed-line", &header_layout_signed_line, REFUSED,
     "FfiStatus.line is signed"},
    {"unsigned-code", &header_layout_unsigned_code, REFUSED,
     "FfiStatus.code is unsigned"},
    {"const-msg", &header_layout_const_msg, REFUSED,
     "FfiStatus.msg is pointer to const"},
    {"plain-file", &header_layout_plain_file, REFUSED,
     "FfiStatus.file is pointer, the"},
    {"integer-msg", &header_layout_integer_msg, REFUSED,
     "FfiStatus.msg is unsigned"},
    {"packed", &header_layout_packed, REFUSED, "FfiStatus has size 40"},
    {"grown", &header_layout_grown, REFUSED, "AbiLayout has size 40"},
    {"words", &header_layout_words, REFUSED,
     "CallHeader.span_id has element size 4"},
};

static void
judge(const char *input, const struct layout *layout, enum expectation expected,
      const char *words)
{
    struct findings found = {0};
    layout_compare(layout, &found);
    refuse_judge("layout", input, expected, words, &found);
}

/*
 * Every pair of fields of one width in one struct: swapped, no size and no
 * sorted list of offsets changes, only the offsets by name.
 */
static void
swap_pairs(struct struct_layout *in, const struct layout *layout)
{
    for (unsigned a = 0; a < in->field_count; a++)
        for (unsigned b = a + 1; b < in->field_count; b++) {
            char input[128], words[128];
            struct abi_field *first = &in->fields[a], *second = &in->fields[b];
            uint64_t offset = first->offset;
            if (first->size != second->size)
                continue;
            snprintf(input, sizeof input, "%s.%s and %s swapped", in->is.name,
                     first->name, second->name);
            snprintf(words, sizeof words, "%s.%s has offset", in->is.name,
                     first->name);
            first->offset = second->offset;
            second->offset = offset;
            judge(input, layout, REFUSED, words);
            second->offset = first->offset;
            first->offset = offset;
        }
}

static enum field_kind
flipped(enum field_kind kind)
{
    switch (kind) {
    case KIND_SIGNED:
        return KIND_UNSIGNED;
    case KIND_UNSIGNED:
        return KIND_SIGNED;
    case KIND_POINTER:
        return KIND_POINTER_TO_CONST;
    case KIND_POINTER_TO_CONST:
        return KIND_POINTER;
    case KIND_OTHER:
        break;
    }
    return KIND_OTHER;
}

static void
flip_kinds(struct struct_layout *in, const struct layout *layout)
{
    static const enum field_kind none[2] = {KIND_OTHER, KIND_POINTER};
    for (unsigned i = 0; i < in->field_count; i++) {
        struct abi_field *field = &in->fields[i];
        enum field_kind kind = field->kind;
        enum field_kind wrong[3] = {flipped(kind), none[0], none[1]};
        for (int w = 0; w < 3; w++) {
            char input[128], words[128];
            if (wrong[w] == kind)
                continue;
            snprintf(input, sizeof input, "%s.%s is %s", in->is.name,
                     field->name, field_kind_name(wrong[w]));
            snprintf(words, sizeof words, "%s.%s is %s, the contract says %s",
                     in->is.name, field->name, field_kind_name(wrong[w]),
                     field_kind_name(kind));
            field->kind = wrong[w];
            judge(input, layout, REFUSED, words);
        }
        field->kind = kind;
    }
}

static void
change_numbers(struct struct_layout *in, const struct layout *layout)
{
    char input[128];
    snprintf(input, sizeof input, "%s one byte longer", in->is.name);
    in->is.size++;
    judge(input, layout, REFUSED, "has size");
    in->is.size--;
    snprintf(input, sizeof input, "%s aligned to 1", in->is.name);
    uint64_t align = in->is.align;
    in->is.align = 1;
    judge(input, layout, REFUSED, "has alignment 1");
    in->is.align = align;
    snprintf(input, sizeof input, "%s without its last field", in->is.name);
    in->field_count--;
    judge(input, layout, REFUSED, "has no field");
    in->field_count++;
}

/* A field that only names the padding is none of the contract's business. */
static void
name_padding(void)
{
    struct layout layout;
    layout_frozen(&layout);
    struct struct_layout *status = &layout.structs[1];
    status->fields[status->field_count++] =
        (struct abi_field){"FfiStatus", "unused", 44, 4, KIND_UNSIGNED, 4};
    judge("FfiStatus names its padding", &layout, PASSES,
          "names its padding: unused");
    status->fields[status->field_count - 1].offset = 40;
    judge("FfiStatus has a field over line", &layout, REFUSED,
          "FfiStatus has a field unused, unknown");
    status->fields[status->field_count - 1].offset = 48;
    judge("FfiStatus has a field after its end", &layout, REFUSED,
          "FfiStatus has a field unused, unknown");
}

static void
change_constants(void)
{
    struct header_layout header = header_layout;
    for (int i = 0; i < FROZEN_CONSTANTS; i++) {
        char words[128];
        struct findings found = {0};
        snprintf(words, sizeof words, "%s is %llu, the contract says %llu",
                 header.constants[i].name,
                 (unsigned long long)header.constants[i].value + 1,
                 (unsigned long long)header.constants[i].value);
        header.constants[i].value++;
        header_constants_compare(&header, &found);
        refuse_judge("constants", header.constants[i].name, REFUSED, words,
                     &found);
        header.constants[i].value--;
    }
    struct findings good = {0}, wrong = {0};
    header_constants_compare(&header_layout, &good);
    refuse_judge("constants", "gusset.h", PASSES, NULL, &good);
    header_constants_compare(&header_layout_constant, &wrong);
    refuse_judge("constants", "constant", REFUSED,
                 "GUSSET_MAX_INLINE_INPUT is 4095, the contract says 4096",
                 &wrong);
}

void
refuse_layouts(void)
{
    struct layout layout;
    layout_frozen(&layout);
    judge("the contract's own table", &layout, PASSES, NULL);
    for (int i = 0; i < FROZEN_STRUCTS; i++) {
        swap_pairs(&layout.structs[i], &layout);
        flip_kinds(&layout.structs[i], &layout);
        change_numbers(&layout.structs[i], &layout);
    }
    judge("the same after all mutations", &layout, PASSES, NULL);
    memset(&layout, 0, sizeof layout);
    judge("no struct at all", &layout, REFUSED, "nothing was compared");
    name_padding();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        judge(rows[i].input, &rows[i].header->layout, rows[i].expected,
              rows[i].words);
    change_constants();
}
