//! WriteTxnMarkers: the ends of transactions whose coordinator is another broker, or that a tool ends by force.

use ottla_model::{ErrorCode, PartitionIndex, TopicName};
use ottla_network::Outcome;
use ottla_protocol::messages::write_txn_markers::{
    WritableTxnMarker, WritableTxnMarkerPartitionResult, WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult, WriteTxnMarkersRequest, WriteTxnMarkersResponse,
};

use super::shared;
use crate::context::Broker;
use crate::dispatch::Call;
use crate::error_map;
use crate::machine_host::markers::{self, Marker};

/// Since this version of transactions, each end raises the epoch.
const RAISES_EPOCH_SINCE: i8 = 2;

pub(crate) fn handle(call: &mut Call<'_>, request: WriteTxnMarkersRequest) -> Outcome {
    let broker = call.broker();
    let mut topics = request.markers.iter().flat_map(|marker| &marker.topics);
    if !topics.any(|topic| shared::has_closed(broker, &topic.name, &topic.partition_indexes)) {
        return call.reply(&write_all(broker, request));
    }
    let (broker, to) = (call.broker_arc(), call.reply_to());
    Outcome::later(async move {
        let pool = broker.pool.clone();
        let asked = request.clone();
        match pool.run(move || write_all(&broker, request)).await {
            Ok(response) => to.reply(&response),
            Err(error) => to.reply(&refuse_all(asked, error_map::of_pool(error))),
        }
    })
}

fn write_all(broker: &Broker, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse {
    let markers = request.markers.into_iter().map(|marker| write(broker, marker)).collect();
    WriteTxnMarkersResponse { markers }
}

fn refuse_all(request: WriteTxnMarkersRequest, error_code: ErrorCode) -> WriteTxnMarkersResponse {
    let markers = request.markers.into_iter().map(|marker| answer(marker, |_, _| error_code)).collect();
    WriteTxnMarkersResponse { markers }
}

fn write(broker: &Broker, wanted: WritableTxnMarker) -> WritableTxnMarkerResult {
    let marker = Marker {
        producer_id: wanted.producer_id,
        producer_epoch: wanted.producer_epoch,
        coordinator_epoch: wanted.coordinator_epoch,
        committed: wanted.transaction_result,
        epoch_raised: wanted.transaction_version >= RAISES_EPOCH_SINCE,
    };
    answer(wanted, |topic, index| {
        markers::write(broker, topic, index, marker).err().unwrap_or(ErrorCode::NONE)
    })
}

/// The answer for a marker, with the code of each partition.
fn answer(
    wanted: WritableTxnMarker,
    code: impl Fn(&TopicName, PartitionIndex) -> ErrorCode,
) -> WritableTxnMarkerResult {
    let topics = wanted.topics.into_iter().map(|topic| {
        let partitions = topic.partition_indexes.iter().map(|index| WritableTxnMarkerPartitionResult {
            partition_index: *index,
            error_code: code(&topic.name, *index),
        });
        let partitions = partitions.collect();
        WritableTxnMarkerTopicResult { name: topic.name, partitions }
    });
    WritableTxnMarkerResult { producer_id: wanted.producer_id, topics: topics.collect() }
}
