// A service with one producer and one consumer, recorded: trial SERVERS TOPIC PARTITIONS RECORDS FOLDER [ID].
package main

import (
	"context"
	"log"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"urteil/recorder"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	servers, topic := kgo.SeedBrokers(strings.Split(os.Args[1], ",")...), os.Args[2]
	partitions, err := strconv.Atoi(os.Args[3])
	check(err)
	records, err := strconv.Atoi(os.Args[4])
	check(err)
	history, err := recorder.Open(os.Args[5])
	check(err)
	options := []kgo.Opt{servers, kgo.WithHooks(history.Hook()), kgo.RecordPartitioner(kgo.ManualPartitioner())}
	if len(os.Args) > 6 {
		options = append(options, kgo.TransactionalID(os.Args[6]))
	}
	send(options, topic, partitions, records, len(os.Args) > 6)
	poll([]kgo.Opt{servers, kgo.WithHooks(history.Hook())}, topic, len(os.Args) > 6, records)
	check(history.Close())
}

func send(options []kgo.Opt, topic string, partitions, records int, inTransaction bool) {
	producer, err := kgo.NewClient(options...)
	check(err)
	defer producer.Close()
	ctx := context.Background()
	if inTransaction {
		check(producer.BeginTransaction())
	}
	for number := range records {
		record := &kgo.Record{Topic: topic, Partition: int32(number % partitions), Value: []byte("the same value")}
		producer.Produce(ctx, record, nil)
		if number%10 == 9 {
			check(producer.Flush(ctx)) // so that there are many batches
		}
	}
	producer.Produce(ctx, &kgo.Record{Topic: topic, Value: make([]byte, 2<<20)}, nil) // too large
	check(producer.Flush(ctx))
	if inTransaction {
		check(producer.EndTransaction(ctx, kgo.TryAbort))
	}
}

// poll reads until the last offsets; a lost record leaves fewer than were sent, so it also ends when idle.
func poll(options []kgo.Opt, topic string, aborted bool, records int) {
	options = append(options, kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	consumer, err := kgo.NewClient(options...)
	check(err)
	defer consumer.Close()
	for polled := 0; polled < records && !aborted; {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		fetches := consumer.PollFetches(ctx)
		cancel()
		if fetches.Err0() != nil || fetches.NumRecords() == 0 {
			return
		}
		polled += fetches.NumRecords()
	}
}
