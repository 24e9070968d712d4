// Follows a topic from its beginning and prints each record as a line of JSON.
// In a module with github.com/twmb/franz-go, github.com/twmb/franz-go/pkg/sr and github.com/twmb/avro:
//
//	KAFKA_BROKERS=localhost:9092 SCHEMA_REGISTRY_URL=http://localhost:8081 go run consume.go ipos.deal-status
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr"
)

func main() {
	topic := "ipos.deal-status"
	if len(os.Args) > 1 {
		topic = os.Args[1]
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := follow(ctx, topic); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

func follow(ctx context.Context, topic string) error {
	registry, err := sr.NewClient(sr.URLs(os.Getenv("SCHEMA_REGISTRY_URL")))
	if err != nil {
		return err
	}
	values := decoder{registry: registry, schemas: map[int]*avro.Schema{}}
	consumer, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(os.Getenv("KAFKA_BROKERS"), ",")...),
		kgo.ConsumerGroup("example-go-"+topic),
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		// franz-go's default shows records of transactions that were aborted, or are not committed yet.
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		// Offsets are committed after the work. No other member takes the partitions meanwhile.
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
	)
	if err != nil {
		return err
	}
	defer consumer.CloseAllowingRebalance()
	lines := json.NewEncoder(os.Stdout)
	for {
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		for _, record := range fetches.Records() {
			// A fence, in compacted topics: the publisher's own record, not the delete of one.
			if record.Value == nil && hasHeader(record, "owner_epoch") {
				continue
			}
			value, err := values.decode(ctx, record.Value)
			if err != nil {
				return err
			}
			if err := lines.Encode(map[string]any{"key": string(record.Key), "value": value}); err != nil {
				return err
			}
		}
		if err := consumer.CommitUncommittedOffsets(ctx); err != nil {
			return err
		}
		consumer.AllowRebalance()
	}
}

func hasHeader(record *kgo.Record, key string) bool {
	return slices.ContainsFunc(record.Headers, func(header kgo.RecordHeader) bool { return header.Key == key })
}

type decoder struct {
	registry *sr.Client
	schemas  map[int]*avro.Schema
}

// Reads the Confluent wire format: a zero byte, the schema's id in four bytes, Avro.
// In `<feed>.current` no value means that the record of this key was deleted.
func (d decoder) decode(ctx context.Context, bytes []byte) (value any, err error) {
	if bytes == nil {
		return nil, nil
	}
	id, data, err := new(sr.ConfluentHeader).DecodeID(bytes)
	if err != nil {
		return nil, err
	}
	if d.schemas[id] == nil {
		text, err := d.registry.SchemaByID(ctx, id)
		if err != nil {
			return nil, err
		}
		if d.schemas[id], err = avro.Parse(text.Schema); err != nil {
			return nil, err
		}
	}
	_, err = d.schemas[id].Decode(data, &value)
	return value, err
}
