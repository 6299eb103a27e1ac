//! What the handlers of group requests share: who asks, and how answers that are late leave. Which answer it is, the
//! coordinator has decided.

use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use compact_str::{CompactString, ToCompactString, format_compact};
use ottla_coordinator::{Client, GroupMachine, Machine, Reply};
use ottla_model::{ErrorCode, Offset};
use ottla_network::Outcome;
use ottla_protocol::Message;

use crate::delayed::produce::{self, Unacknowledged};
use crate::delayed::waits::Waits;
use crate::dispatch::Call;
use crate::identity;
use crate::machine_host::{Asked, Delivery, Uncommitted};

/// Every operation on a group, as Kafka answers without an authorizer (KIP-430: read, delete, describe, describe configs,
/// alter configs).
pub(super) const GROUP_OPERATIONS: i32 = 3400;

/// Who asks, as the coordinator writes it down.
pub(super) fn client(call: &Call<'_>) -> Client {
    Client {
        id: call.client_id.clone().unwrap_or_default(),
        host: host(call.connection.peer.ip()),
        version: call.version(),
    }
}

/// An address as Java prints one that was never looked up by name.
fn host(address: IpAddr) -> CompactString {
    match address.to_canonical() {
        IpAddr::V4(address) => format_compact!("/{address}"),
        IpAddr::V6(address) => {
            let [first, rest @ ..] = address.segments();
            let mut text = format_compact!("/{first:x}");
            for segment in rest {
                text.push(':');
                text.push_str(&format_compact!("{segment:x}"));
            }
            text
        }
    }
}

/// Random bytes for the id of a new member; none are drawn for one that has an id.
pub(super) fn random_for(member_id: &str) -> [u8; 16] {
    if !member_id.is_empty() {
        return [0; 16];
    }
    identity::random_bytes().expect("the system has given random bytes before")
}

/// The response of one answer, now or once it is there.
pub(super) fn finish<M: Message + 'static>(
    call: &mut Call<'_>,
    asked: Asked<Reply>,
    response: impl FnOnce(Reply) -> M + 'static,
) -> Outcome {
    if let Asked::Answered(Delivery { reply, after: None }) = asked {
        return call.reply(&response(reply));
    }
    if matches!(asked, Asked::Parked(_)) {
        call.connection.one_at_a_time = true;
    }
    let (to, waits, timeout) = (call.reply_to(), call.waits(), call.groups().commit_timeout());
    Outcome::later(async move {
        match resolved::<GroupMachine>(asked, waits, timeout).await {
            Some(reply) => to.reply(&response(reply)),
            None => ottla_network::Reply::close(),
        }
    })
}

/// The response of several answers, in the order in which they were asked for.
pub(super) fn finish_all<M: Message + 'static>(
    call: &mut Call<'_>,
    asked: Vec<Asked<Reply>>,
    response: impl FnOnce(Vec<Reply>) -> M + 'static,
) -> Outcome {
    let is_ready = |asked: &Asked<Reply>| matches!(asked, Asked::Answered(Delivery { after: None, .. }));
    if asked.iter().all(is_ready) {
        let replies = asked.into_iter().filter_map(|asked| match asked {
            Asked::Answered(delivery) => Some(delivery.reply),
            Asked::Parked(_) => None,
        });
        return call.reply(&response(replies.collect()));
    }
    let (to, waits, timeout) = (call.reply_to(), call.waits(), call.groups().commit_timeout());
    Outcome::later(async move {
        let mut replies = Vec::with_capacity(asked.len());
        for asked in asked {
            match resolved::<GroupMachine>(asked, Rc::clone(&waits), timeout).await {
                Some(reply) => replies.push(reply),
                None => return ottla_network::Reply::close(),
            }
        }
        to.reply(&response(replies))
    })
}

/// The answer once it may leave; none where it never comes, since the broker stops. Dropping the future leaves whatever
/// was written as it is.
pub(super) async fn resolved<M: Machine>(
    asked: Asked<M::Reply>,
    waits: Rc<Waits>,
    timeout: Duration,
) -> Option<M::Reply> {
    let Delivery { mut reply, after } = match asked {
        Asked::Answered(delivery) => delivery,
        Asked::Parked(parked) => parked.await.ok()?,
    };
    if let Some(after) = after
        && let Err(code) = committed(after, waits, timeout).await
    {
        M::refuse(&mut reply, code);
    }
    Some(reply)
}

/// Waits until everything that an answer tells of is committed.
async fn committed(
    Uncommitted { partition, end }: Uncommitted,
    waits: Rc<Waits>,
    timeout: Duration,
) -> Result<(), ErrorCode> {
    let last = Offset::new(end.get() - 1);
    let codes = produce::wait(waits, vec![Unacknowledged { partition, last }], timeout).await;
    match codes.first().copied().unwrap_or(ErrorCode::NONE) {
        ErrorCode::NONE => Ok(()),
        ErrorCode::REQUEST_TIMED_OUT => Err(ErrorCode::COORDINATOR_NOT_AVAILABLE),
        _ => Err(ErrorCode::NOT_COORDINATOR),
    }
}

/// The coordinator answers each event in kind.
pub(super) fn mismatched(reply: &Reply) -> ! {
    unreachable!("the coordinator answers in kind, not with {}", format!("{reply:?}").to_compact_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_java_writes_them() {
        for (address, text) in [
            ("127.0.0.1", "/127.0.0.1"),
            ("::1", "/0:0:0:0:0:0:0:1"),
            ("::ffff:10.0.0.7", "/10.0.0.7"),
            ("2001:db8::a", "/2001:db8:0:0:0:0:0:a"),
        ] {
            assert_eq!(host(address.parse().expect("an address")), text);
        }
    }
}
