/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "abi_check/report.h"

#include <stdio.h>
#include <string.h>

#include "conform.h"

static void
report_notes(const char *notes)
{
    for (const char *at = notes; at != NULL && *at != '\0';) {
        size_t len = strcspn(at, "\n");
        conform_evidence("note", "%.*s", (int)len, at);
        at += len + (at[len] == '\n');
    }
}

/* Neither of these returns, so what they say is copied out first. */
static void
end_unjudged(struct findings *found)
{
    char reason[sizeof found->skip];
    bool broken = found->broken[0] != '\0', lacks = found->lacks[0] != '\0';
    snprintf(reason, sizeof reason, "%s",
             broken  ? found->broken
             : lacks ? found->lacks
                     : found->skip);
    findings_free(found);
    if (broken)
        conform_broken("%s", reason);
    if (lacks)
        conform_out_of_reach("%s", reason);
    conform_skip("%s", reason);
}

void
report_findings(struct findings *found, const char *what)
{
    report_notes(found->notes);
    bool refuses = findings_refuses(found);
    if (found->broken[0] != '\0' ||
        (!refuses && (found->skip[0] != '\0' || found->lacks[0] != '\0')))
        end_unjudged(found);
    conform_evidence("compared", "%zu facts", found->judged);
    expect_u64(0, found->fault_count, "%s, %zu facts compared: %s", what,
               found->judged, refuses ? found->faults : "");
    findings_free(found);
}
