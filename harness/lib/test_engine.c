/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The test engine of docs/contract.md, section 4: harness/engine/README.md. */
#include <string.h>

#include "internal.h"

bool
conform_needs(const struct conform_case *declared, const char *word)
{
    const char *at = declared->needs;
    size_t want = strlen(word);
    while (at != NULL && *at != '\0') {
        size_t len = strcspn(at, " ");
        if (len == want && strncmp(at, word, len) == 0) {
            return true;
        }
        at += len;
        at += strspn(at, " ");
    }
    return false;
}

void
conform_test_engine_start(void)
{
    struct conform_test_engine engine =
        conform_test_engine_find(conform_run.test_engine);
    if (engine.start == NULL) {
        conform_out_of_reach("no test engine: the subject has neither "
                             "gte_register nor the gse_ engine API, and no "
                             "--test-engine is given");
    }
    int32_t code = engine.start();
    if (code != 0) {
        conform_broken("the test engine of %s refuses: gte_register returned "
                       "%d",
                       engine.from, code);
    }
    conform_evidence("test-engine", "%s", engine.from);
}
