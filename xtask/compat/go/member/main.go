// member BOOTSTRAP GROUP TOPIC PROTOCOL [INSTANCE]: one member of a consumer group, on franz-go.
//
// Prints `has 0,2` whenever its partitions change, `got PARTITION OFFSET VALUE` for each record, and `committed PARTITION NEXT`
// once the broker has taken a commit. Leaves the group when stdin ends.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

type owned struct {
	sync.Mutex
	partitions map[int32]bool
}

func (o *owned) change(gained bool, changed map[string][]int32) {
	o.Lock()
	defer o.Unlock()
	for _, partitions := range changed {
		for _, partition := range partitions {
			if gained {
				o.partitions[partition] = true
			} else {
				delete(o.partitions, partition)
			}
		}
	}
	numbers := make([]int, 0, len(o.partitions))
	for partition := range o.partitions {
		numbers = append(numbers, int(partition))
	}
	sort.Ints(numbers)
	words := make([]string, len(numbers))
	for at, number := range numbers {
		words[at] = strconv.Itoa(number)
	}
	fmt.Println("has", strings.Join(words, ","))
}

func main() {
	bootstrap, group, topic, protocol := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	has := owned{partitions: map[int32]bool{}}
	gained := func(_ context.Context, _ *kgo.Client, changed map[string][]int32) { has.change(true, changed) }
	gone := func(_ context.Context, _ *kgo.Client, changed map[string][]int32) { has.change(false, changed) }
	options := []kgo.Opt{
		kgo.SeedBrokers(bootstrap),
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
		kgo.SessionTimeout(6 * time.Second),
		kgo.HeartbeatInterval(300 * time.Millisecond),
		kgo.FetchMaxWait(200 * time.Millisecond),
		kgo.OnPartitionsAssigned(gained),
		kgo.OnPartitionsRevoked(gone),
		kgo.OnPartitionsLost(gone),
	}
	if protocol == "classic" {
		options = append(options, kgo.Balancers(kgo.CooperativeStickyBalancer()))
	} else {
		options = append(options, kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer()))
	}
	if len(os.Args) > 5 {
		options = append(options, kgo.InstanceID(os.Args[5]))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		fail(err)
	}
	leaving, leave := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		leave()
	}()
	for leaving.Err() == nil {
		poll(leaving, client)
	}
	client.CloseAllowingRebalance()
}

// poll prints one batch of records and commits it before a rebalance may take its partitions away.
func poll(leaving context.Context, client *kgo.Client) {
	fetches := client.PollRecords(leaving, 200)
	defer client.AllowRebalance()
	next := map[int32]int64{}
	fetches.EachRecord(func(record *kgo.Record) {
		fmt.Println("got", record.Partition, record.Offset, string(record.Value))
		next[record.Partition] = record.Offset + 1
	})
	if len(next) == 0 {
		return
	}
	if err := client.CommitRecords(context.Background(), fetches.Records()...); err != nil {
		fmt.Fprintln(os.Stderr, "commit:", err)
		return
	}
	for partition, offset := range next {
		fmt.Println("committed", partition, offset)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
