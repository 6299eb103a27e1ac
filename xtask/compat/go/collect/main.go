// collect BOOTSTRAP: what an exporter of metrics learns of a cluster as a client, on Sarama with the protocol versions of
// Kafka 2.0: topics, offsets, groups, lags. Prints one sample a line, `name{label="value",…} number`, sorted.
package main

import (
	"fmt"
	"os"
	"sort"

	"github.com/IBM/sarama"
)

func main() {
	if err := collect(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type samples []string

func (s *samples) add(name, labels string, value int64) {
	*s = append(*s, fmt.Sprintf("%s%s %d", name, labels, value))
}

func collect(bootstrap string) error {
	config := sarama.NewConfig()
	config.Version = sarama.V2_0_0_0
	config.ClientID = "collect"
	client, err := sarama.NewClient([]string{bootstrap}, config)
	if err != nil {
		return err
	}
	defer client.Close()
	var found samples
	found.add("kafka_brokers", "", int64(len(client.Brokers())))
	newest := map[string]map[int32]int64{}
	if err := topics(client, &found, newest); err != nil {
		return err
	}
	for _, broker := range client.Brokers() {
		if err := broker.Open(config); err != nil && err != sarama.ErrAlreadyConnected {
			return err
		}
		if err := groups(broker, &found, newest); err != nil {
			return err
		}
	}
	sort.Strings(found)
	for _, sample := range found {
		fmt.Println(sample)
	}
	return nil
}

func topics(client sarama.Client, found *samples, newest map[string]map[int32]int64) error {
	names, err := client.Topics()
	if err != nil {
		return err
	}
	for _, topic := range names {
		partitions, err := client.Partitions(topic)
		if err != nil {
			return err
		}
		found.add("kafka_topic_partitions", fmt.Sprintf(`{topic="%s"}`, topic), int64(len(partitions)))
		newest[topic] = map[int32]int64{}
		for _, partition := range partitions {
			labels := fmt.Sprintf(`{partition="%d",topic="%s"}`, partition, topic)
			leader, err := client.Leader(topic, partition)
			if err != nil {
				return err
			}
			end, err := client.GetOffset(topic, partition, sarama.OffsetNewest)
			if err != nil {
				return err
			}
			start, err := client.GetOffset(topic, partition, sarama.OffsetOldest)
			if err != nil {
				return err
			}
			replicas, err := client.Replicas(topic, partition)
			if err != nil {
				return err
			}
			inSync, err := client.InSyncReplicas(topic, partition)
			if err != nil {
				return err
			}
			newest[topic][partition] = end
			found.add("kafka_topic_partition_leader", labels, int64(leader.ID()))
			found.add("kafka_topic_partition_current_offset", labels, end)
			found.add("kafka_topic_partition_oldest_offset", labels, start)
			found.add("kafka_topic_partition_replicas", labels, int64(len(replicas)))
			found.add("kafka_topic_partition_in_sync_replica", labels, int64(len(inSync)))
			found.add("kafka_topic_partition_leader_is_preferred", labels, truth(replicas[0] == leader.ID()))
			found.add("kafka_topic_partition_under_replicated_partition", labels, truth(len(inSync) < len(replicas)))
		}
	}
	return nil
}

func groups(broker *sarama.Broker, found *samples, newest map[string]map[int32]int64) error {
	listed, err := broker.ListGroups(&sarama.ListGroupsRequest{})
	if err != nil {
		return err
	}
	var names []string
	for name := range listed.Groups {
		names = append(names, name)
	}
	described, err := broker.DescribeGroups(&sarama.DescribeGroupsRequest{Groups: names})
	if err != nil {
		return err
	}
	for _, group := range described.Groups {
		found.add("kafka_consumergroup_members", fmt.Sprintf(`{consumergroup="%s"}`, group.GroupId), int64(len(group.Members)))
		request := &sarama.OffsetFetchRequest{ConsumerGroup: group.GroupId, Version: 1}
		for topic, partitions := range newest {
			for partition := range partitions {
				request.AddPartition(topic, partition)
			}
		}
		fetched, err := broker.FetchOffset(request)
		if err != nil {
			return err
		}
		for topic, partitions := range fetched.Blocks {
			var offsets, lags int64
			committed := false
			for partition, block := range partitions {
				if block.Offset < 0 {
					continue
				}
				committed = true
				lag := max(newest[topic][partition]-block.Offset, 0)
				labels := fmt.Sprintf(`{consumergroup="%s",partition="%d",topic="%s"}`, group.GroupId, partition, topic)
				found.add("kafka_consumergroup_current_offset", labels, block.Offset)
				found.add("kafka_consumergroup_lag", labels, lag)
				offsets, lags = offsets+block.Offset, lags+lag
			}
			if committed {
				labels := fmt.Sprintf(`{consumergroup="%s",topic="%s"}`, group.GroupId, topic)
				found.add("kafka_consumergroup_current_offset_sum", labels, offsets)
				found.add("kafka_consumergroup_lag_sum", labels, lags)
			}
		}
	}
	return nil
}

func truth(is bool) int64 {
	if is {
		return 1
	}
	return 0
}
