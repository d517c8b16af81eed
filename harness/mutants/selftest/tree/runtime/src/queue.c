/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The file whose faults the test of the driver generates. */

int
small_room(int used)
{
    return used < 4;
}

/* A guard that never stops anything: without it the code is the same. */
int
small_same(int used)
{
    if (used - used != 0)
        return 9;
    return used * 3;
}

int
small_most(int a, int b)
{
    /* Equivalent [compare]: of two equal numbers either is the greater. */
    return a > b ? a : b;
}

int
small_twin(int used)
{
    /* Equivalent [compare]: this is not true, and a full run finds out. */
    return used < 2;
}

int
small_short(int used)
{
    /* Equivalent [constant]: no reason. */
    return used + 2;
}

int
small_moved(int used)
{
    /* Equivalent [drop-one]: there has never been anything to drop here. */
    return used << 1;
}
