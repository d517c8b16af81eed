/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <string.h>

#include "abi_check/header_layout.h"

void
header_constants_compare(const struct header_layout *header,
                         struct findings *found)
{
    for (int i = 0; i < FROZEN_CONSTANTS; i++) {
        const struct abi_constant *wanted = &frozen_constants[i];
        const struct abi_constant *seen = &header->constants[i];
        found->judged++;
        if (seen->name == NULL || strcmp(seen->name, wanted->name) != 0)
            findings_fault(found, "%s does not list the constant %s",
                           header->layout.side, wanted->name);
        else if (seen->value != wanted->value)
            findings_fault(found, "%s: %s is %llu, the contract says %llu",
                           header->layout.side, wanted->name,
                           (unsigned long long)seen->value,
                           (unsigned long long)wanted->value);
    }
}
