/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A call of the C library, to be bound early or late. */
#include <unistd.h>

int calls(void);
int
calls(void)
{
    return (int)getppid();
}
