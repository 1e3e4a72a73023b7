//! Manual pages and completions: made of the commands' definitions, and understood by those who read them.

use std::process::Command;

use crate::sandbox::Sandbox;
use crate::words::help::COMMANDS;

#[test]
fn every_command_has_a_manual_page_with_its_options() {
    let sandbox = Sandbox::new();
    for command in COMMANDS {
        let outcome = sandbox.run(&format!("man {command}"));
        let page = String::from_utf8(outcome.succeeds_silently().stdout.clone()).unwrap();
        let name = format!("outset {command}").trim().replace(' ', "\\-");
        assert!(
            page.contains(&format!(".SH NAME\n{name}")),
            "{command}: {page}"
        );
        assert!(page.contains("\\-\\-help"), "{command}");
    }
    let page = sandbox.run("man intersect");
    let page = String::from_utf8(page.stdout).unwrap().replace('\\', "");
    for part in [
        "[-m|--memory SIZE]",
        "[-1 FIELD[,FIELD...]]",
        "[--side PATH...]",
        "[FILE...]",
        "\n.SH \"EXIT STATUS\"\n.nf\n&0 complete result\n&2 wrong usage\n",
        "\n.SH \"EXAMPLES\"\n.nf\n&outset intersect ",
        "\n.SH RESULT\n",
    ] {
        assert!(page.contains(part), "no {part:?}: {page}");
    }
    assert!(!page.contains("EXTRA"), "{page}");
    let build = sandbox.run("man filter build");
    assert!(String::from_utf8_lossy(&build.stdout).contains("bits\\-per\\-key"));
    sandbox
        .run("man filter nothing")
        .fails(2, &["man: ", "has no command nothing"]);
}

#[test]
fn bash_completes_commands_and_options() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = sandbox.run(&format!("completions {shell}"));
        assert!(!script.succeeds_silently().stdout.is_empty());
    }
    let script = sandbox.run("completions bash").stdout.clone();
    sandbox.write("script", script);
    let complete = |words: &str, last: &str| {
        let text = format!(
            "source {}; COMP_WORDS=({words} {last}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _outset outset {last} x; echo \"${{COMPREPLY[@]}}\"",
            sandbox.input("script").display()
        );
        let output = Command::new("bash").args(["-c", &text]).output();
        output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    match complete("outset filter", "bu") {
        Ok(found) => assert_eq!(found, "build"),
        Err(error) => return eprintln!("skipped: no bash: {error}"),
    }
    assert_eq!(
        complete("outset intersect", "--strat").unwrap(),
        "--strategy"
    );
    assert_eq!(complete("outset man", "over").unwrap(), "overlaps");
}
