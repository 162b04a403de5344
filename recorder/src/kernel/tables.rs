//! Tables of the programs that user space empties.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};

use crate::event::Plain;

/// Takes all entries out of a hash map.
pub fn empty<K: Plain, V: Plain>(map: BorrowedFd<'_>) -> Vec<(K, V)> {
    const BATCH: usize = 8192;
    let mut out = Vec::new();
    let mut keys: Vec<MaybeUninit<K>> = Vec::with_capacity(BATCH);
    let mut values: Vec<MaybeUninit<V>> = Vec::with_capacity(BATCH);
    let mut position = [0u32; 2];
    let mut first = true;
    loop {
        let mut count = BATCH as u32;
        let start = if first {
            std::ptr::null_mut()
        } else {
            position.as_mut_ptr().cast::<c_void>()
        };
        // SAFETY: the buffers hold BATCH keys and values of the map's sizes (both are generated from the same layout), and a
        // position of a hash map takes four bytes.
        let done = unsafe {
            libbpf_rs::libbpf_sys::bpf_map_lookup_and_delete_batch(
                map.as_raw_fd(),
                start,
                position[1..].as_mut_ptr().cast(),
                keys.as_mut_ptr().cast(),
                values.as_mut_ptr().cast(),
                &mut count,
                std::ptr::null(),
            )
        };
        let error = if done < 0 {
            std::io::Error::last_os_error().raw_os_error()
        } else {
            None
        };
        if !matches!(error, None | Some(libc::ENOENT)) {
            return out;
        }
        for place in 0..count as usize {
            // SAFETY: the kernel has filled in `count` of them; Plain types take every value.
            out.push(unsafe {
                (
                    keys.as_ptr().add(place).cast::<K>().read(),
                    values.as_ptr().add(place).cast::<V>().read(),
                )
            });
        }
        if error.is_some() {
            return out;
        }
        position[0] = position[1];
        first = false;
    }
}

/// Takes the entries of these keys out of a hash map; None where the kernel cannot (before 5.14). A key without an entry
/// is left out.
pub fn take<K: Plain, V: Plain>(map: BorrowedFd<'_>, keys: &[K]) -> Option<Vec<(K, V)>> {
    let mut out = Vec::with_capacity(keys.len());
    for key in keys {
        let mut value = MaybeUninit::<V>::uninit();
        // SAFETY: key and value are of the map's sizes (both are generated from the same layout).
        let done = unsafe {
            libbpf_rs::libbpf_sys::bpf_map_lookup_and_delete_elem(
                map.as_raw_fd(),
                std::ptr::from_ref(key).cast(),
                value.as_mut_ptr().cast(),
            )
        };
        if done == 0 {
            // SAFETY: the kernel has filled it in; Plain types take every value.
            out.push((*key, unsafe { value.assume_init() }));
        } else if std::io::Error::last_os_error().raw_os_error() != Some(libc::ENOENT)
            && out.is_empty()
        {
            return None;
        }
    }
    Some(out)
}
