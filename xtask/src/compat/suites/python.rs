//! Two Python clients, one on librdkafka and one of its own making: keys, nulls, headers, timestamps, large values.

use anyhow::{Context, Result};
use serde_json::Value;

use crate::compat::node::KEEP_ALL;
use crate::compat::session::Session;

pub(crate) fn run(session: &mut Session<'_>) -> Result<()> {
    let mut node = session.start("broker", KEEP_ALL)?;
    let mut command = session.peers.python("round_trip.py");
    let printed = session.expect_success(command.arg(node.address()))?;
    for line in printed.lines() {
        let answer: Value = serde_json::from_str(line).with_context(|| format!("no JSON: {line}"))?;
        let step = answer["step"].as_str().with_context(|| format!("no step: {line}"))?.to_owned();
        session.records += u64::from(answer["offset"].is_number());
        session.answer(step, line);
    }
    node.stop()
}
