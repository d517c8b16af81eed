// SPDX-License-Identifier: MIT OR Apache-2.0
//! Panics, unwinds through frames with destructors, catches.

use std::panic::{catch_unwind, AssertUnwindSafe};

struct Guard<'a>(&'a mut i32);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        *self.0 += 1;
    }
}

fn deep(levels: i32, dropped: &mut i32) -> i32 {
    let guard = Guard(dropped);
    if levels == 0 {
        panic!("a panic of an other");
    }
    deep(levels - 1, guard.0) + 1
}

/// 42 when each panic was caught as it was thrown.
///
/// # Safety
/// `between` is a function of the host that does not unwind.
#[no_mangle]
pub unsafe extern "C" fn panicker_run(between: unsafe extern "C" fn(i32) -> i32) -> i32 {
    std::panic::set_hook(Box::new(|_| {}));
    for turn in 0..3 {
        let mut dropped = 0;
        let caught = catch_unwind(AssertUnwindSafe(|| deep(turn, &mut dropped)));
        let said = match &caught {
            Ok(_) => return -1,
            Err(payload) => payload.downcast_ref::<&str>().copied(),
        };
        if said != Some("a panic of an other") || dropped != turn + 1 {
            return -2;
        }
        if between(turn) != turn + 1 {
            return -3;
        }
    }
    42
}
