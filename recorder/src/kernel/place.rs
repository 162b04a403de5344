//! Where an object of programs lies in memory while they live.

use std::mem::MaybeUninit;

use libbpf_rs::OpenObject;

/// Programs live as long as the process. Their object's place is needed as long, once, however often loading is tried.
pub struct Place(*mut MaybeUninit<OpenObject>);

impl Default for Place {
    fn default() -> Place {
        Place(Box::leak(Box::new(MaybeUninit::uninit())))
    }
}

impl Place {
    /// For one attempt.
    ///
    /// # Safety
    /// Nothing refers to what an earlier attempt put there: it failed, and went away with its error.
    pub unsafe fn take(&mut self) -> &'static mut MaybeUninit<OpenObject> {
        // SAFETY: it is never freed; the caller sees to it that this is the only reference.
        unsafe { &mut *self.0 }
    }
}
