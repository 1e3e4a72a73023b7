//! Temporary space against its promises: the cap, what goes and what stays, what an error says.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;

use super::*;

fn space(cap: u64) -> (TempDir, TempSpace) {
    let parent = tempfile::tempdir().unwrap();
    let space = TempSpace::new(
        &[parent.path().to_owned()],
        Quota::new(cap),
        &Interrupt::new(),
    );
    (parent, space)
}

#[test]
fn what_is_written_is_read_back_and_nothing_remains() {
    let (parent, space) = space(u64::MAX);
    let file = space.new_path("test").unwrap();
    let block = vec![7u8; 2 * PAGE as usize];
    space.write(&file, 0, &block).unwrap();
    space.write(&file, block.len() as u64, &block).unwrap();
    let mut back = vec![0u8; PAGE as usize];
    space.read(&file, 3 * PAGE, &mut back, PAGE).unwrap();
    assert_eq!(back, &block[..PAGE as usize]);
    let mode = std::fs::metadata(&file.path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    drop(space);
    assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
}

#[test]
fn a_file_that_was_written_through_the_page_cache_and_around_it_is_read_back() {
    let (_parent, space) = space(u64::MAX);
    let file = space.new_bucket_path("test").unwrap();
    let block = |number: u64| vec![number as u8; PAGE as usize];
    for number in 0..8 {
        // Where the machine has no room for the first ones, all go around the cache.
        if number == 3 {
            space.fill_page_cache();
        }
        space.write(&file, number * PAGE, &block(number)).unwrap();
    }
    let mut back = vec![0u8; 8 * PAGE as usize];
    space.read(&file, 0, &mut back, PAGE).unwrap();
    assert_eq!(back, (0..8).flat_map(block).collect::<Vec<u8>>());
    space
        .read(&file, 2 * PAGE, &mut back[..3 * PAGE as usize], PAGE)
        .unwrap();
    assert_eq!(back[2 * PAGE as usize..3 * PAGE as usize], block(4));
}

#[test]
fn a_block_that_is_larger_than_a_piece_for_the_page_cache_is_read_back() {
    let (_parent, space) = space(u64::MAX);
    let file = space.new_bucket_path("test").unwrap();
    // Two pieces and a half.
    let block: Vec<u8> = (0..160_u8).flat_map(|page| [page; PAGE as usize]).collect();
    for number in 0..2 {
        let offset = number * block.len() as u64;
        space.write(&file, offset, &block).unwrap();
    }
    let mut back = vec![0; 2 * block.len()];
    space.read(&file, 0, &mut back, PAGE).unwrap();
    assert!(back == [&block[..], &block].concat());
}

#[test]
fn e4_the_cap_holds_and_an_error_does_not_shrink_it() {
    let (_parent, space) = space(3 * PAGE);
    let file = space.new_path("test").unwrap();
    let page = vec![1u8; PAGE as usize];
    for number in 0..3 {
        space.write(&file, number * PAGE, &page).unwrap();
    }
    let refused = space.write(&file, 3 * PAGE, &page).unwrap_err();
    assert!(matches!(refused, Error::TempLimit { .. }), "{refused}");
    space.remove(&file, 3 * PAGE);
    let other = space.new_path("other").unwrap();
    for number in 0..3 {
        space.write(&other, number * PAGE, &page).unwrap();
    }
    assert_eq!(space.space_use().peak_bytes, 3 * PAGE);
}

#[test]
fn a_file_that_lost_its_end_is_damaged() {
    let (_parent, space) = space(u64::MAX);
    let file = space.new_path("test").unwrap();
    space
        .write(&file, 0, &vec![1u8; 6 * PAGE as usize])
        .unwrap();
    let cut = File::options().write(true).open(&file.path).unwrap();
    cut.set_len(5 * PAGE - 1).unwrap();
    let mut buffer = vec![0u8; 4 * PAGE as usize];
    let error = space.read(&file, 2 * PAGE, &mut buffer, 2 * PAGE);
    assert!(
        matches!(error, Err(Error::Damaged { block: 2, .. })),
        "{error:?}"
    );
    std::fs::remove_file(&file.path).unwrap();
    let error = space.read(&file, 2 * PAGE, &mut buffer, 2 * PAGE);
    assert!(matches!(error, Err(Error::Temp { .. })), "{error:?}");
}

#[test]
fn only_the_buckets_of_an_attempt_that_failed_go() {
    let quota = Quota::new(u64::MAX);
    let parent = tempfile::tempdir().unwrap();
    let directories = [parent.path().to_owned()];
    let space = TempSpace::new(&directories, quota.clone(), &Interrupt::new());
    let (copy, bucket) = (
        space.new_path("pipe").unwrap(),
        space.new_path("store0-bucket7").unwrap(),
    );
    let page = vec![1u8; PAGE as usize];
    space.write(&copy, 0, &page).unwrap();
    space.retain(PAGE);
    space.write(&bucket, 0, &page).unwrap();
    space.write(&bucket, PAGE, &page).unwrap();
    assert_eq!(quota.used_bytes(), 3 * PAGE);
    space.remove_buckets();
    assert!(copy.path.exists() && !bucket.path.exists());
    assert_eq!(quota.used_bytes(), PAGE);
    let used = space.space_use();
    assert_eq!((used.files, used.written_bytes), (2, 3 * PAGE));
    drop(space);
    assert_eq!((quota.used_bytes(), quota.peak_bytes()), (0, 3 * PAGE));
}

#[test]
fn a_write_that_fails_says_what_to_do_about_it() {
    let (parent, space) = space(u64::MAX);
    let file = space.new_path("test").unwrap();
    std::fs::remove_dir_all(file.path.parent().unwrap()).unwrap();
    let error = space.write(&file, 0, &vec![1u8; PAGE as usize]);
    assert!(
        matches!(&error, Err(Error::Temp { advice, .. }) if advice.contains("no longer exists")),
        "{error:?}"
    );
    assert!(parent.path().exists() && space.used.load(Ordering::Relaxed) == 0);
}
