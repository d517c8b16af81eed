/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "abi_check/exports.h"

#include <elf.h>
#include <string.h>

#include "abi_check/frozen.h"

static bool
is_ours(const struct symbol *symbol)
{
    return strncmp(symbol->name, "gusset_", 7) == 0;
}

/* How one of the 17 is there; says what is wrong with it. */
static void
check_one(const struct artifact *artifact, const char *name,
          struct findings *found)
{
    size_t visible = 0;
    const struct symbol *hidden = NULL, *old = NULL;
    for (size_t i = 0; i < artifact->count; i++) {
        const struct symbol *symbol = &artifact->symbols[i];
        if (strcmp(symbol->name, name) != 0)
            continue;
        if (!symbol_is_visible(symbol)) {
            hidden = symbol;
            continue;
        }
        visible++;
        if (symbol->old_version)
            old = symbol;
    }
    found->judged++;
    if (visible == 0 && hidden != NULL)
        findings_fault(found, "missing export: %s is %s in %s", name,
                       symbol_visibility_name(hidden->visibility),
                       hidden->object);
    else if (visible == 0)
        findings_fault(found, "missing export: %s", name);
    else if (visible > 1)
        findings_fault(found, "%s is defined %zu times", name, visible);
    else if (old != NULL)
        findings_fault(found,
                       "%s is exported in a version that is not the default: "
                       "no host can link to it",
                       name);
}

void
exports_check_set(const struct artifact *artifact, struct findings *found)
{
    for (int i = 0; i < FROZEN_EXPORTS; i++)
        check_one(artifact, frozen_exports[i], found);
    for (size_t i = 0; i < artifact->count; i++) {
        const struct symbol *symbol = &artifact->symbols[i];
        if (is_ours(symbol) && symbol_is_visible(symbol) &&
            !frozen_is_export(symbol->name))
            findings_fault(found, "extra export: %s (%s in %s)", symbol->name,
                           symbol_type_name(symbol->type), symbol->object);
    }
}

void
exports_check_kinds(const struct artifact *artifact, struct findings *found)
{
    for (size_t i = 0; i < artifact->count; i++) {
        const struct symbol *symbol = &artifact->symbols[i];
        if (!is_ours(symbol) || !symbol_is_visible(symbol))
            continue;
        found->judged++;
        if (symbol->type != STT_FUNC)
            findings_fault(found, "%s is %s, not a function (FUNC), in %s",
                           symbol->name, symbol_type_name(symbol->type),
                           symbol->object);
        if (symbol->binding != STB_GLOBAL)
            findings_fault(found, "%s is %s, not GLOBAL, in %s", symbol->name,
                           symbol_binding_name(symbol->binding),
                           symbol->object);
        if (symbol->visibility != STV_DEFAULT)
            findings_fault(
                found, "%s has %s visibility, not DEFAULT, in %s", symbol->name,
                symbol_visibility_name(symbol->visibility), symbol->object);
    }
}
