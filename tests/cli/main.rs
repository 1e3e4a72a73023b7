//! The program from outside: it is started as a user would start it, and judged by its exit status, what it prints, and
//! what it leaves behind.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
#![expect(
    clippy::float_cmp,
    reason = "the numbers compared are counts and sizes, read from JSON"
)]

// The exact and the approximate way beside each other.
mod compare;
// Standard input and output that are closed.
mod closed;
// What a run that goes well does: results, options, reports, plans.
mod contract;
// Temporary space that cannot be written around the page cache, or is full.
mod direct;
// Lines and bytes that a naive program gets wrong.
mod bytes;
// Texts to intersect, and the plain way of computing what they have in common.
mod data;
// How many lines are common, estimated.
mod estimate;
// One thing under two names, as inputs and outputs.
mod identity;
// What a run that goes wrong says, and what it leaves behind.
mod failures;
// Filter files that are damaged or foreign, or that several processes have to do with.
mod filter_files;
// Filters that are kept: asking, changing, what they say of themselves.
mod filters;
// A stored filter as one side of an intersection, and the filter of a run saved.
mod filter_sides;
// The memory of filters, from outside the process.
mod filter_limits;
// What is asked for when filters are built or merged, and what is refused.
mod filter_requests;
// Rows 5 to 13 of what people do with filters, each done as a user would.
mod filter_rows;
// Kills and signals at a thousand random moments.
mod kills;
// Help texts, held by files.
mod help;
// Memory groups: heeded, enough, and lowered meanwhile.
mod groups;
// Memory, descriptors and address space, measured from outside the process.
mod limits;
// Writes to temporary space that are lost or altered on their way.
mod lost;
// Lines that were made to meet in one bucket.
mod hostile;
// Manual pages and completions.
mod manual;
// The page that lists which test is about which row of the matrix.
mod matrix;
// What a user is told of a run that goes well.
mod notices;
// Progress and the final summary.
mod progress;
// Places with limits: file systems, groups, permissions, descriptors.
mod places;
// Outputs on file systems of their own.
mod mounts;
// What the README says can be pasted.
mod readme;
// The report as a page.
mod report;
// Room for temporary files, before a run begins.
mod room;
// A place for runs, with the checks that every run must pass.
mod sandbox;
// Reads and writes that are short or interrupted.
mod short;
// Ends by signals at chosen and at random moments.
mod signals;
// Sizes of filters: the textbooks' figures, and the answers to requests.
mod size;
// System calls that fail, one after the other.
mod sweep;
// A terminal to show progress on.
mod terminal;
// What the command line takes and says: rates, numbers, names, help.
mod words;
