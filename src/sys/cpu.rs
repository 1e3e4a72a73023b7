//! What is asked of the processor directly: which instructions it has, and a line of cache ahead of
//! its use.
//!
//! *Owns:* feature detection and the prefetch instruction. *Cost:* none; detection is a cached
//! load.

/// Whether the vector forms for AVX-512 can run here.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
}

/// Asks for the cache line that holds `words[index]`. An index out of range is ignored.
#[inline]
pub(crate) fn prefetch<T>(words: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(word) = words.get(index) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        #[expect(unsafe_code, reason = "the prefetch intrinsic takes a raw pointer")]
        // SAFETY: the pointer comes from a live reference, and prefetching has no effect on memory.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(word).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (words, index);
}
