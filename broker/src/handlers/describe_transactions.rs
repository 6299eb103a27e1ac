//! DescribeTransactions: transactions by their ids, each from its coordinator.

use ottla_coordinator::{TransactionEvent, TransactionReply};
use ottla_model::ErrorCode;
use ottla_network::{Outcome, Reply};
use ottla_protocol::messages::describe_transactions::{
    DescribeTransactionsRequest, DescribeTransactionsResponse, TransactionState,
};

use super::transaction;
use crate::dispatch::Call;

pub(crate) async fn handle(call: &mut Call<'_>, request: DescribeTransactionsRequest) -> Outcome {
    let mut response = DescribeTransactionsResponse::default();
    for id in request.transactional_ids {
        if id.is_empty() {
            response.transaction_states.push(TransactionState {
                error_code: ErrorCode::INVALID_REQUEST,
                ..TransactionState::default()
            });
            continue;
        }
        let event = TransactionEvent::Describe { ids: vec![id.clone()] };
        match transaction::ask(call, id.as_str(), event).await {
            Some(TransactionReply::Described(described)) => response.transaction_states.extend(described),
            Some(other) => transaction::mismatched(&other),
            None => return Reply::close().into(),
        }
    }
    call.reply(&response)
}
