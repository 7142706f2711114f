//! What the programs of the Rust clients share: their arguments, their checks, and how they print a result.

use std::collections::BTreeSet;
use std::error::Error;
use std::time::{Duration, Instant};

/// A note about a scenario that passed, or why it failed.
pub type Outcome = Result<String, Box<dyn Error>>;

pub const LIMIT: Duration = Duration::from_secs(40);

/// The writes of the scenario `too-large`: suffix of the topic, size of the record, and whether it is accepted.
pub const WRITES: [(&str, usize, bool); 5] = [
    ("", 900_000, true),
    ("", 1_100_000, false),
    ("-small", 1_000, true),
    ("-small", 3_000, false),
    ("-large", 1_100_000, true),
];

/// The scenario's name, the brokers of the cluster, the scenario's own topic, and how many records it writes.
pub struct Args {
    pub scenario: String,
    pub servers: String,
    pub topic: String,
    pub records: usize,
}

impl Args {
    pub fn read() -> Args {
        let words: Vec<String> = std::env::args().collect();
        Args {
            scenario: words[1].clone(),
            servers: words[2].clone(),
            topic: words[3].clone(),
            records: words[4].parse().expect("a number of records"),
        }
    }
}

/// Prints the result of a scenario as one line of JSON.
pub fn print_result(result: Outcome) {
    match result {
        Ok(note) => print("passed", &note),
        Err(error) => print("failed", &error.to_string()),
    }
}

pub fn print(outcome: &str, note: &str) {
    let text = note.replace('\\', "/").replace('"', "'").replace('\n', " ");
    println!("{{\"outcome\": \"{outcome}\", \"note\": \"{text}\"}}");
}

pub fn numbers(count: usize) -> Vec<String> {
    (0..count).map(|number| number.to_string()).collect()
}

pub fn expect(condition: bool, why: impl Into<String>) -> Result<(), Box<dyn Error>> {
    if condition { Ok(()) } else { Err(why.into().into()) }
}

/// Fails unless each wanted value was found exactly once.
pub fn expect_once(found: &[String], wanted: &[String]) -> Result<(), Box<dyn Error>> {
    let seen: BTreeSet<&String> = found.iter().collect();
    let missing = wanted.iter().filter(|value| !seen.contains(value)).count();
    expect(missing == 0 && found.len() == wanted.len(), format!("{missing} values missing, {} found", found.len()))
}

/// Waits until the condition is true; fails after 40 seconds.
pub fn await_until(why: &str, mut condition: impl FnMut() -> Result<bool, Box<dyn Error>>) -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    while !condition()? {
        expect(began.elapsed() < LIMIT, format!("after {LIMIT:?}: {why}"))?;
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
