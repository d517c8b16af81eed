/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The library whose faults the test of the driver plants. */

int
small_sum(int a, int b)
{
    return a + b;
}

int
small_twice(int a)
{
    return 2 * a;
}

/* The exit code that the judge of this test is made to end with: -1 none. */
int
small_exit_code(void)
{
    return -1;
}

/* What the judge of this test does to its results: 0 writes them. */
int
small_results(void)
{
    return 0;
}
