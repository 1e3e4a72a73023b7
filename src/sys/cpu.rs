//! The instructions that the processor has, and fetching memory into its cache before it is used.
//!
//! *Owns:* feature detection and the prefetch instruction. *Cost:* detection is a cached load.

/// Bytes of a line of cache.
pub(crate) const CACHE_LINE: usize = 64;

/// Returns true if the vector forms for AVX-512 (F, BW, DQ and VL) can run here.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_avx512() -> bool {
    !cfg!(portable)
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
}

/// Returns true if the vector forms for AVX2 can run here.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_avx2() -> bool {
    !cfg!(portable) && is_x86_feature_detected!("avx2")
}

/// Fetches the cache line that holds `words[index]` into the first-level cache, without waiting for it. An
/// index out of range is ignored. Does nothing on processors other than x86-64.
#[inline]
pub(crate) fn prefetch<T>(words: &[T], index: usize) {
    if let Some(word) = words.get(index) {
        prefetch_address(std::ptr::from_ref(word).addr());
    }
}

/// Works as [`prefetch`], of any address, whatever is there: for memory that another thread may be changing.
#[inline]
pub(crate) fn prefetch_address(address: usize) {
    #[cfg(all(target_arch = "x86_64", not(portable)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        #[expect(unsafe_code, reason = "the prefetch intrinsic takes a raw pointer")]
        // SAFETY: a prefetch neither changes memory nor faults, whatever the address.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::without_provenance(address));
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(portable))))]
    let _ = address;
}
