//! The report as a page: that it needs nothing else, says what the run said, harms nobody, and can be read.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use data_gen::Compression;
use differential::sweep;
use scraper::{ElementRef, Html, Selector};
use serde_json::{Value, json};

use crate::data::{common, lines, megabytes};
use crate::limits::memory::measured;
use crate::sandbox::{PATIENCE, Sandbox, makes_linux_calls};

/// Two inputs that do not fit the smallest limit.
fn large() -> Sandbox {
    Sandbox::with(&megabytes(5, 0), &megabytes(5, 40_000))
}

pub(super) fn selector(text: &str) -> Selector {
    Selector::parse(text).unwrap()
}

/// The elements of a page that `text` selects.
pub(super) fn all<'a>(page: &'a Html, text: &str) -> Vec<ElementRef<'a>> {
    page.select(&selector(text)).collect()
}

/// The page in `file`, which must be well-formed.
pub(super) fn parsed(file: &Path) -> Html {
    let page = Html::parse_document(&fs::read_to_string(file).unwrap());
    assert_eq!(page.errors, Vec::<String>::new());
    page
}

/// All figures of a page.
pub(super) fn document(page: &Html) -> Value {
    let script = all(page, "script#report")[0];
    assert_eq!(script.attr("type"), Some("application/json"));
    serde_json::from_str(&script.text().collect::<String>()).unwrap()
}

fn read_json(file: &Path) -> Value {
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

/// Every cell of a table must show what the document has; returns how many there are.
pub(super) fn compared_cells(page: &Html, document: &Value) -> usize {
    let cells = all(page, "td[data-figure]");
    for cell in &cells {
        let pointer = cell.attr("data-figure").unwrap();
        let value: Value = serde_json::from_str(cell.attr("data-value").unwrap()).unwrap();
        assert_eq!(document.pointer(pointer), Some(&value), "{pointer}");
        assert!(!cell.text().collect::<String>().is_empty(), "{pointer}");
    }
    cells.len()
}

#[test]
#[ignore = "slow: more than a second"]
fn the_page_of_a_comparison_says_what_its_stats_file_says() {
    // The first and the third are of one point.
    let comparisons = [
        "--memory 16M --bits-per-key 4",
        "--sweep memory=16M,24M",
        "--operation diff --memory 16M --bits-per-key 4",
        "--memory 24M --sweep max-fpr=10%,2%",
    ];
    for options in sweep::some(&comparisons, 2) {
        let sandbox = large();
        let arguments = format!("compare a b -q {options} --report ../out/r.html --stats ../out/s");
        sandbox.run(&arguments).succeeds();
        let page = parsed(&sandbox.output("r.html"));
        let document = document(&page);
        assert_eq!(
            document["comparison"],
            read_json(&sandbox.output("s")),
            "{options}"
        );
        let shown = compared_cells(&page, &document);
        assert!(shown > 80, "{options}: {shown} figures");
        let predicted = document["predicted"].as_array().unwrap();
        assert!(predicted.len() > 10, "{options}: {predicted:?}");
        let rates = predicted
            .iter()
            .map(|p| p["predicted_fpr"].as_f64().unwrap());
        assert!(rates.is_sorted_by(|a, b| a >= b), "{predicted:?}");
        assert!(all(&page, "svg").len() >= 4, "{options}");
    }
}

#[test]
fn the_tables_the_document_and_the_stats_file_say_the_same() {
    // The first is without buckets and a filter, the third has both.
    let strategies = ["memory --memory 64M", "partition", "sieve", "bloom"];
    for &strategy in sweep::some(&strategies, 2) {
        let sandbox = large();
        let arguments = format!(
            "intersect a b -q --memory 16M --strategy {strategy} --report ../out/r.html --stats ../out/s -o ../out/o"
        );
        let arguments = match strategy {
            "memory --memory 64M" => arguments.replace("--memory 16M ", ""),
            _ => arguments,
        };
        sandbox.run(&arguments).succeeds();
        let page = parsed(&sandbox.output("r.html"));
        let document = document(&page);
        assert_eq!(
            document["stats"],
            read_json(&sandbox.output("s")),
            "{strategy}"
        );
        assert_eq!(document["plan"]["strategy"], document["stats"]["strategy"]);
        let shown = compared_cells(&page, &document);
        assert!(shown > 40, "{strategy}: {shown} figures");
        // What a row is about stands in it as people write it.
        let lines = document["stats"]["inputs"][0]["lines"].as_u64().unwrap();
        let grouped = format!("{},{:03}", lines / 1000, lines % 1000);
        assert!(
            page.html().contains(&format!(">{grouped}</td>")),
            "{grouped}"
        );
    }
}

#[test]
fn f12_the_page_of_a_directory_shows_the_files_with_the_largest_share_removed() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.input("s")).unwrap();
    // Files of 100 lines, of which one, two and so on are left; of a small one none is; and one without lines.
    for left in 1..=60u32 {
        let number = |line| if line < left { left * 100 + line } else { 0 };
        let line = |line| format!("{}\n", number(line));
        let text = (0..100).map(line).collect::<Vec<_>>().concat();
        sandbox.write(&format!("s/{left:02}<&>"), text);
    }
    sandbox.write("s/small", "0\n0\n");
    sandbox.write("s/void", "");
    let outputs = "--out-dir ../out/d --report ../out/r.html --stats ../out/s";
    sandbox
        .run(&format!("union --side s -q {outputs}"))
        .succeeds();
    let page = parsed(&sandbox.output("r.html"));
    let document = document(&page);
    compared_cells(&page, &document);
    assert_needs_nothing(&sandbox);
    let removed = &document["removed"];
    let of = |value: &Value| {
        let number = |name: &str| value[name].as_u64().unwrap();
        let counts = ["lines", "written", "removed"].map(number);
        (value["file"].as_str().unwrap().to_owned(), counts)
    };
    let most: Vec<_> = removed["most"].as_array().unwrap().iter().map(of).collect();
    // The first file has the first 0 as well.
    let file = |left: u64| (format!("s/{left:02}<&>"), [100, left, 100 - left]);
    let small = ("s/small".to_owned(), [2, 0, 2]);
    let first = ("s/01<&>".to_owned(), [100, 2, 98]);
    let others = (3..=49).map(file);
    let expected: Vec<_> = [small, first, file(2)].into_iter().chain(others).collect();
    assert_eq!(most, expected);
    let written = (50..=60).sum::<u64>();
    let rest = (
        "the other 12 files".to_owned(),
        [1100, written, 1100 - written],
    );
    assert_eq!(of(&removed["others"]), rest);
    let written = (1..=60).sum::<u64>() + 1;
    let all = ("all 62 files".to_owned(), [6002, written, 6002 - written]);
    assert_eq!(of(&removed["all"]), all);
    assert_eq!(
        removed["all"]["removed_share"],
        (6002 - written) as f64 / 6002.0
    );
    let text = page.html();
    assert!(
        text.contains("Of 6,002 lines, 4,171 were removed (69.49%). Nothing is left of 1 file."),
        "{text}"
    );
    // The list of all files is in the statistics alone.
    assert_eq!(
        read_json(&sandbox.output("s"))["files"]
            .as_array()
            .unwrap()
            .len(),
        62
    );
    assert!(document["stats"].get("files").is_none() && !text.contains("s/60"));
}

#[test]
fn f12_the_page_quotes_the_lines_that_came_most_often_where_they_are_counted() {
    let sandbox = Sandbox::new();
    // Of 20,000 lines some come up to 14 times, in both files; the one that comes most often is long, and no text.
    let line = |number: u64| match number {
        14 => [&b"\xff"[..], &b"<".repeat(300)].concat(),
        _ => format!("{number}\tline").into_bytes(),
    };
    let lines = |file: u64| {
        let more = (2..=14).flat_map(|number| vec![number; number as usize]);
        let all = (15..20_000)
            .chain(more)
            .filter(|it| it % 2 == file || *it == 14);
        all.flat_map(|number| [line(number), b"\n".to_vec()].concat())
            .collect::<Vec<u8>>()
    };
    sandbox.write("a", lines(0));
    sandbox.write("b", lines(1));
    let long = format!("\u{fffd}{}…", "<".repeat(199));
    for (words, most) in [
        ("union a b -D ../out/x --strategy partition", 28),
        ("union a b -D ../out/x --strategy memory -m 64M", 28),
        ("union a b -D ../out/x --strategy sieve -m 16M", 28),
        ("union a b --min-count 2 --out-dir ../out/d -m 16M", 28),
        ("union a b --max-count 13 --count -m 24M", 13),
        ("union a b --tsv -k 1 -D ../out/x --keep last", 28),
    ] {
        let out = if words.contains("--out-dir") {
            ""
        } else {
            "-o ../out/o"
        };
        sandbox
            .run(&format!("{words} {out} -q --report ../out/r.html"))
            .succeeds();
        let page = parsed(&sandbox.output("r.html"));
        let document = document(&page);
        compared_cells(&page, &document);
        let groups = document["groups"].as_array().unwrap();
        let expected = [28, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4];
        let expected = expected.iter().filter(|&&it| it <= most).take(10);
        let expected = expected.map(|&number| match number {
            28 => json!({ "occurrences": 28, "bytes": 301, "beginning": long }),
            _ => {
                let line = format!("{number}\tline");
                json!({ "occurrences": number, "bytes": line.len(), "beginning": line })
            }
        });
        assert_eq!(*groups, expected.collect::<Vec<_>>(), "{words}");
    }
    for (words, says) in [
        (
            "union a b --out-dir ../out/e",
            "with -D FILE they are on this page",
        ),
        (
            "union a b --keep none -o ../out/o",
            "No line of the result came more than once.",
        ),
    ] {
        sandbox
            .run(&format!("{words} -q --report ../out/r.html"))
            .succeeds();
        let text = parsed(&sandbox.output("r.html")).html();
        assert!(
            text.contains(says) && !text.contains("line</td>"),
            "{words}"
        );
    }
    sandbox
        .run("diff a b -q -o ../out/o --report ../out/r.html")
        .succeeds();
    let text = parsed(&sandbox.output("r.html")).html();
    assert!(!text.contains("most copies"));
}

#[test]
fn the_page_of_records_says_what_was_left_out_and_how_files_are_stored() {
    let sandbox = Sandbox::new();
    let text = "1\ta\nno key\n2\tb\n".repeat(500);
    let stored = Compression::Gzip.compress(text.as_bytes()).unwrap();
    let stored_bytes = stored.len();
    sandbox.write("a", stored);
    sandbox.write("b", "x\tb\n");
    sandbox
        .run("intersect --tsv -k 2 --bad-records skip a b -o ../out/o --report ../out/r.html")
        .succeeds();
    let page = parsed(&sandbox.output("r.html"));
    let document = document(&page);
    let input = &document["stats"]["inputs"][0];
    assert_eq!(input["bad_records"], 500);
    assert_eq!(input["stored_bytes"], stored_bytes);
    assert_eq!(input["bytes"], text.len());
    compared_cells(&page, &document);
    for figure in ["bad_records", "stored_bytes", "bytes"] {
        let cell = format!("data-figure=\"/stats/inputs/0/{figure}\"");
        assert!(page.html().contains(&cell), "{figure}");
    }
}

#[test]
#[ignore = "slow: close to a second"]
fn the_page_needs_nothing_else_and_runs_nothing() {
    let sandbox = large();
    for command in [
        "intersect -o ../out/o",
        "compare",
        "compare --sweep max-fpr=9%,3%",
        "compare --operation diff",
    ] {
        let arguments = format!("{command} a b -q --memory 16M --report ../out/r.html");
        sandbox.run(&arguments).succeeds();
        assert_needs_nothing(&sandbox);
    }
}

/// The page in the output directory must load nothing and run nothing.
pub(super) fn assert_needs_nothing(sandbox: &Sandbox) {
    let text = fs::read_to_string(sandbox.output("r.html")).unwrap();
    let without_namespace = text.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for reference in [
        "http:",
        "https:",
        "url(",
        "@import",
        "@font-face",
        " src=",
        " href=",
        "=\"//",
        "<link",
        "<img",
    ] {
        assert!(!without_namespace.contains(reference), "{reference}");
    }
    let page = parsed(&sandbox.output("r.html"));
    assert_eq!(all(&page, "script").len(), 1, "only the figures");
    let handlers = all(&page, "*")
        .into_iter()
        .flat_map(|element| element.value().attrs());
    assert!(
        handlers
            .into_iter()
            .all(|(name, _)| !name.starts_with("on"))
    );
    let policy = all(&page, "meta[http-equiv]")[0];
    assert!(
        policy
            .attr("content")
            .unwrap()
            .starts_with("default-src 'none';")
    );
}

/// Every colour of a picture must have one for dark mode.
pub(super) fn assert_colours(page: &Html) {
    let style = all(page, "style")[0].text().collect::<String>();
    for attribute in ["fill", "stroke"] {
        for element in page.select(&selector(&format!("svg [{attribute}]"))) {
            let colour = element.attr(attribute).unwrap();
            let rule = format!("svg [{attribute}=\"{colour}\"]{{{attribute}:var(--");
            assert!(
                colour == "none" || style.contains(&rule),
                "{attribute} {colour}"
            );
        }
    }
}

#[test]
fn every_picture_has_a_name_colours_for_dark_mode_and_a_table() {
    // Only Linux tells how much memory is resident over time.
    if !makes_linux_calls() {
        return;
    }
    let sandbox = large();
    sandbox
        .run(
            "intersect a b --memory 16384K --strategy partition --report ../out/r.html -o ../out/o",
        )
        .succeeds_silently();
    let page = parsed(&sandbox.output("r.html"));
    let pictures: Vec<&str> = all(&page, "svg")
        .into_iter()
        .map(|picture| {
            assert_eq!(picture.attr("role"), Some("img"));
            assert!(
                picture
                    .attr("viewbox")
                    .or(picture.attr("viewBox"))
                    .is_some()
            );
            picture.attr("aria-label").unwrap()
        })
        .collect();
    let expected = [
        "When each phase ran",
        "Bytes read per second over time",
        "Resident memory over time, and the limit",
        "Buckets by number of lines",
    ];
    assert_eq!(pictures, expected);
    for section in all(&page, "section:has(svg)") {
        let count = |text: &str| section.select(&selector(text)).count();
        assert!(count("table") >= count("svg"), "{}", section.html());
    }
    assert_colours(&page);
    let document = document(&page);
    let samples = document["recording"]["samples"].as_array().unwrap();
    let most = samples
        .iter()
        .map(|sample| sample["resident_bytes"].as_u64().unwrap())
        .max();
    let peak = document["stats"]["memory"]["peak_rss_bytes"]
        .as_u64()
        .unwrap();
    assert!(
        samples.len() > 8 && samples.len() <= 512,
        "{} samples",
        samples.len()
    );
    assert!(
        most.unwrap() <= peak + (1 << 20) && most.unwrap() > peak / 2,
        "{most:?} of {peak}"
    );
    assert_eq!(document["recording"]["limits"][0]["limit_bytes"], 16 << 20);
    let phases = |list: &Value| -> Vec<Value> {
        list.as_array()
            .unwrap()
            .iter()
            .map(|phase| phase["name"].clone())
            .collect()
    };
    assert_eq!(
        phases(&document["recording"]["phases"]),
        phases(&document["stats"]["phases"])
    );
}

#[test]
fn hostile_names_are_harmless() {
    let sandbox = Sandbox::with(&lines(0..300), &lines(200..500));
    fs::create_dir(sandbox.input("<")).unwrap();
    let hostile = "<\u{2f}script><script>alert(1)&\"'\u{1b}[31m\u{7f}\u{202e}]]>--><!--";
    fs::write(sandbox.input(hostile), lines(0..300)).unwrap();
    let mut command =
        sandbox.command("intersect b -q --report ../out/r.html --stats ../out/s --strategy sieve");
    command.arg(hostile);
    sandbox.start(command).finish().succeeds();
    let text = fs::read_to_string(sandbox.output("r.html")).unwrap();
    assert!(!text.contains(['\u{1b}', '\u{7f}', '\u{202e}']));
    let page = parsed(&sandbox.output("r.html"));
    assert_eq!(all(&page, "script").len(), 1);
    assert_eq!(document(&page)["stats"], read_json(&sandbox.output("s")));
    let cells = all(&page, "td")
        .into_iter()
        .map(|cell| cell.text().collect::<String>());
    let shown = r#"</script><script>alert(1)&"'\u{1b}[31m\u{7f}\u{202e}]]>--><!--"#;
    assert!(
        cells.into_iter().any(|cell| cell == shown),
        "the name is not shown"
    );
}

#[test]
#[ignore = "slow: close to a second"]
fn memory_stays_under_the_limit_with_a_report() {
    let (a, b) = (megabytes(12, 0), megabytes(12, 100_000));
    let sandbox = Sandbox::with(&a, &b);
    let count = format!("{}\n", common(&[&a, &b]).len()).into_bytes();
    let strategies = ["auto", "partition", "sieve", "bloom"];
    for (&strategy, threads) in sweep::pairs(&strategies, &[1, 2, 8]) {
        let arguments = format!(
            "intersect a b --count-only -q --memory 16M -j {threads} --strategy {strategy} --report ../out/r.html"
        );
        let (outcome, peak) = measured(&sandbox, &arguments);
        assert!(outcome.status.success(), "{arguments}: {outcome}");
        assert!(peak <= 16 << 20, "{arguments}: {} KiB resident", peak >> 10);
        assert!(
            strategy == "bloom" || outcome.stdout == count,
            "{arguments}"
        );
    }
}

#[test]
fn a_failed_run_leaves_no_report_and_what_was_there_stays() {
    let sandbox = large();
    // The sandbox checks that no failure touches or adds an output.
    let run = |arguments: &str, code: i32, parts: &[&str]| {
        sandbox
            .run(&format!("intersect a b {arguments}"))
            .fails(code, parts);
    };
    run("--memory 1M --report ../out/r.html", 6, &["memory"]);
    run(
        "--memory 16M --strategy partition --max-temp 1M --report ../out/r.html",
        4,
        &[],
    );
    fs::write(sandbox.output("r.html"), "before").unwrap();
    run(
        "--memory 16M --strategy partition --max-temp 1M --report ../out/r.html",
        4,
        &[],
    );
    assert_eq!(fs::read(sandbox.output("r.html")).unwrap(), b"before");
    sandbox
        .run("intersect a b -q --report ../out/r.html -o ../out/o")
        .succeeds();
    assert!(
        fs::read(sandbox.output("r.html"))
            .unwrap()
            .starts_with(b"<!DOCTYPE html>")
    );
}

#[test]
fn a_path_that_cannot_be_is_refused_before_the_run() {
    let sandbox = large();
    let fifo = sandbox.fifo("never-written");
    for (place, code) in [
        ("../out/none/r.html", 5),
        ("../out", 5),
        ("a", 2),
        ("../out/o", 2),
        ("../out/s", 2),
    ] {
        // The run would wait for the FIFO if it began.
        let arguments = format!(
            "intersect a {} -o ../out/o --stats ../out/s --report {place}",
            fifo.display()
        );
        sandbox.run(&arguments).fails(code, &[place]);
    }
    sandbox
        .run("intersect a b --report -")
        .fails(2, &["--report", "name another file"]);
    sandbox
        .run("intersect a b -o ../out/r --report -")
        .fails(2, &["--report", "name a file"]);
}

/// Looks at `page` in a window of each width and tells what is too wide, cut or overlapped.
fn looked_at(browser: &str, page: &Path, place: &Path) -> String {
    const LOOK: &str = r#"
        const shown = element => `${element.tagName} ${element.textContent.slice(0, 40)}`;
        const overlap = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
            && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2;
        window.onload = () => {
            const faults = [];
            let seen = 0;
            for (const frame of document.querySelectorAll("iframe")) {
                const page = frame.contentDocument, width = frame.contentWindow.innerWidth;
                const fault = (what, element) => faults.push(`${what} at ${width}: ${shown(element)}`);
                if (page.documentElement.scrollWidth > width) fault("scrolls", page.body);
                for (const element of page.body.querySelectorAll("*:not(script)")) {
                    const inside = element.closest(".scrolled");
                    if (inside && inside !== element) continue;
                    seen += 1;
                    if (element.getBoundingClientRect().right > width + 1) fault("too wide", element);
                }
                for (const picture of page.querySelectorAll("svg")) {
                    const frame = picture.getBoundingClientRect();
                    const texts = [...picture.querySelectorAll("text")];
                    const places = texts.map(text => text.getBoundingClientRect());
                    places.forEach((place, one) => {
                        if (place.left < frame.left - 1 || place.right > frame.right + 1
                            || place.top < frame.top - 1 || place.bottom > frame.bottom + 1) fault("cut", texts[one]);
                        for (let two = 0; two < one; two++)
                            if (overlap(place, places[two])) fault("overlaps " + shown(texts[two]), texts[one]);
                        if (place.height < 8) fault("tiny", texts[one]);
                    });
                }
            }
            document.body.textContent = `seen ${seen} faults [${faults.join("; ")}]`;
        };"#;
    let frame = |width: u32| {
        let address = page.display();
        format!(
            "<iframe src=\"file://{address}\" style=\"width:{width}px;height:900px;border:0\"></iframe>"
        )
    };
    let wrapper = place.join("look.html");
    let frames = [1280, 480, 360].map(frame).concat();
    fs::write(
        &wrapper,
        format!("<!DOCTYPE html><body>{frames}<script>{LOOK}</script>"),
    )
    .unwrap();
    let seen = place.join("seen");
    let mut child = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .args([
            "--allow-file-access-from-files",
            "--virtual-time-budget=10000",
            "--dump-dom",
        ])
        .arg(format!(
            "--user-data-dir={}",
            place.join("profile").display()
        ))
        .arg(format!("file://{}", wrapper.display()))
        .stdout(fs::File::create(&seen).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > PATIENCE {
            let _has_ended = child.kill();
            panic!("the browser does not end");
        }
        thread::sleep(Duration::from_millis(20));
    }
    fs::read_to_string(seen).unwrap()
}

/// A browser, if there is one.
fn browser() -> Option<&'static str> {
    let is_there = |name: &&str| {
        let output = Command::new(name)
            .arg("--version")
            .stderr(Stdio::null())
            .output();
        output.is_ok_and(|output| output.status.success())
    };
    ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(is_there)
}

#[test]
#[ignore = "slow: a browser draws nine pages"]
fn in_a_browser_nothing_is_too_wide_cut_or_overlapped() {
    let Some(browser) = browser() else {
        eprintln!("skipped: no chromium is installed to look at the page");
        return;
    };
    let place = tempfile::tempdir().unwrap();
    let long = "a-directory-with-a-name-that-goes-on-and-on/".repeat(4);
    let commands = [
        "intersect --strategy sieve --memory 16M -o ../out/o",
        "intersect --strategy partition --memory 16M -o ../out/o",
        "intersect --strategy bloom --memory 16M -o ../out/o",
        "compare --memory 16M",
        "compare --sweep memory=16M,24M,64M",
        "compare --operation diff --memory 16M",
        "overlaps --memory 16M",
        "overlaps --pairs --memory 24M a b a b b",
        "union --memory 24M --out-dir ../out/d -D ../out/x",
    ];
    for (number, command) in commands.into_iter().enumerate() {
        let sandbox = large();
        fs::create_dir_all(sandbox.input(&long)).unwrap();
        let path: PathBuf = sandbox.input(&format!(
            "{long}and-a-file-name-without-any-blank-in-it.txt"
        ));
        fs::write(&path, megabytes(12, 50_000)).unwrap();
        sandbox
            .run(&format!(
                "{command} a {} -q --report ../out/r.html",
                path.display()
            ))
            .succeeds();
        let own = place.path().join(number.to_string());
        fs::create_dir(&own).unwrap();
        let seen = looked_at(browser, &sandbox.output("r.html"), &own);
        let words: Vec<&str> = seen.split("seen ").collect();
        let count = words
            .get(1)
            .and_then(|rest| rest.split(' ').next()?.parse::<u32>().ok());
        assert!(
            count.is_some_and(|count| count > 300),
            "nothing was looked at: {seen}"
        );
        assert!(seen.contains("faults []"), "{command}: {seen}");
    }
}
