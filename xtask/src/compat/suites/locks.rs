//! A log directory belongs to one broker at a time. Ours and Apache Kafka's see each other's lock.

use anyhow::Result;

use crate::compat::node::{KEEP_ALL, Kind, Node};
use crate::compat::session::Session;
use crate::process;

const RECORD_COUNT: &str = "50";

pub(crate) fn run(session: &mut Session<'_>) -> Result<()> {
    let mut first = session.start("first", KEEP_ALL)?;
    load(session, &first, "before")?;
    for (name, kind) in [("ottla", Kind::Ottla), ("kafka", Kind::Kafka)] {
        let second =
            Node::new(kind, &session.folder.join(format!("second-{name}")), &[])?.with_data_of(&first);
        let mut command = second.command(session.peers)?;
        let done = process::capture(&mut command)?;
        session.claim(format!("a second {} ends with an error", kind.name()), done.code() > 0);
        let complaint = match kind {
            Kind::Ottla => one_sentence_about(&done.stderr, first.data().to_string_lossy().as_ref()),
            Kind::Kafka => done.stderr.contains("Failed to acquire lock on file .lock"),
        };
        session.claim(
            format!("a second {} says on stderr that the directory is in use", kind.name()),
            complaint,
        );
        if !complaint {
            println!("it said: {}{}", done.stdout, done.stderr);
        }
        session.claim("the first broker goes on running", first.is_running()?);
    }
    load(session, &first, "after")?;
    for topic in ["before", "after"] {
        let mut command = session.peers.python("read_all.py");
        let read = session.expect_success(command.args([first.address().as_str(), topic]))?;
        session.records += read.lines().count() as u64;
        session.answer(format!("what was written {topic} the second brokers came"), &read);
    }
    first.stop()
}

fn load(session: &Session<'_>, node: &Node, topic: &str) -> Result<()> {
    let mut command = session.peers.python("load.py");
    session.expect_success(command.args([node.address().as_str(), topic, RECORD_COUNT, "100"])).map(drop)
}

/// Whether the last thing that was said is one line that names the directory.
fn one_sentence_about(stderr: &str, data: &str) -> bool {
    let errors: Vec<&str> = stderr.lines().filter(|line| !line.trim().is_empty()).collect();
    errors.len() == 1 && errors[0].contains(data)
}
