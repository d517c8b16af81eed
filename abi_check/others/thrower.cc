// SPDX-License-Identifier: MIT OR Apache-2.0
// Throws through frames with destructors and catches, and lets a function of
// the host run while an exception is alive.
#include <stdexcept>
#include <string>

static int alive;

struct guard {
    guard()
    {
        alive++;
    }
    ~guard()
    {
        alive--;
    }
};

static int
deep(int levels, const std::string &text)
{
    guard here;
    if (levels == 0)
        throw std::runtime_error(text);
    return deep(levels - 1, text) + 1;
}

extern "C" int
thrower_run(int (*between)(int))
{
    for (int turn = 0; turn < 3; turn++) {
        try {
            return deep(turn * 5, "thrown by an other");
        } catch (const std::exception &caught) {
            if (alive != 0 || between(turn) != turn + 1 ||
                std::string(caught.what()) != "thrown by an other")
                return -1;
        }
    }
    return 42;
}
