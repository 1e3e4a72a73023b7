//! See `recipe` in the tests of filter files.

#![no_main]

#[path = "../../library/filter_files/examine.rs"]
mod examine;
#[path = "../../library/filter_files/image.rs"]
mod image;
#[path = "../../library/filter_files/recipe.rs"]
mod recipe;

libfuzzer_sys::fuzz_target!(|data: &[u8]| recipe::load_filter(data));
