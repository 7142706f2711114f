// Package recorder writes what a client of franz-go sends and polls as a history that Urteil judges.
//
//	history, err := recorder.Open("/var/lib/orders/history")
//	client, err := kgo.NewClient(kgo.WithHooks(history.Hook()), ...)
//
// All clients of a process share one history. A header of each record identifies it: it joins the send
// and the polls. README.md says what hooks cannot see.
package recorder

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// header identifies a record; the history has its value instead of the record's.
const header = "urteil"

const recorderBits = 10

// neverAppended has the errors that depend only on the request and the configuration, so that every
// attempt was refused.
var neverAppended = []error{
	kerr.MessageTooLarge, kerr.RecordListTooLarge, kerr.InvalidRecord, kerr.InvalidRequiredAcks,
	kerr.InvalidTimestamp, kerr.PolicyViolation, kerr.UnsupportedCompressionType,
	kerr.UnsupportedForMessageFormat, kerr.TopicAuthorizationFailed, kerr.ClusterAuthorizationFailed,
}

// row is one line of the history format.
type row struct {
	Op          int64  `json:"op"`
	Process     int64  `json:"process"`
	F           string `json:"f"`
	Outcome     string `json:"outcome"`
	InvokedNs   int64  `json:"invoked_ns"`
	CompletedNs int64  `json:"completed_ns"`
	Position    int    `json:"position"`
	Kind        string `json:"kind"`
	Key         string `json:"key"`
	Offset      *int64 `json:"offset,omitempty"`
	Value       string `json:"value"`
	Error       string `json:"error,omitempty"`
	Group       string `json:"group,omitempty"`
	Isolation   string `json:"isolation,omitempty"`
}

// History is an NDJSON file that clients write their operations to.
//
// Several processes may write to one folder. So each recorder has a random number, which is part of the
// name of its file, of its process numbers and of its operation numbers. An operation number begins with
// the microsecond of the completion, so that the operations of all recorders are in completion order.
type History struct {
	mu        sync.Mutex
	file      *os.File
	number    int64
	name      string
	began     time.Time // has a monotonic reading
	processes int64
	free      []int64
	values    int64
	lastOp    int64
}

// Open begins a new file in the folder.
func Open(folder string) (*History, error) {
	var random [6]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, err
	}
	h := &History{
		number: int64(binary.BigEndian.Uint16(random[:2])) % (1 << recorderBits),
		began:  time.Now(),
	}
	h.name = fmt.Sprintf("%03x-%08x", h.number, binary.BigEndian.Uint32(random[2:]))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	path := filepath.Join(folder, "recorder-"+h.name+".ndjson")
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	h.file = file
	return h, err
}

// Close closes the file; close the clients first.
func (h *History) Close() error { return h.file.Close() }

func (h *History) now() int64 { return h.began.UnixNano() + int64(time.Since(h.began)) }

func (h *History) newProcess() int64 {
	h.processes++
	return h.number<<40 | h.processes
}

func (h *History) openProcess() int64 {
	last := len(h.free) - 1
	if last < 0 {
		return h.newProcess()
	}
	process := h.free[last]
	h.free = h.free[:last]
	return process
}

// write numbers the operation, which completes now, and writes its only row.
func (h *History) write(one row) int64 {
	one.CompletedNs = h.now()
	h.lastOp = max(h.lastOp+1<<recorderBits, one.CompletedNs/1000<<recorderBits|h.number)
	one.Op = h.lastOp
	line, err := json.Marshal(one)
	if err == nil {
		_, err = h.file.Write(append(line, '\n'))
	}
	if err != nil {
		log.Printf("urteil recorder: the history has a gap: %v", err)
	}
	return one.CompletedNs
}

type open struct {
	process, invokedNs int64
	value              string
}

type partition struct {
	topic  string
	number int32
}

// Hook records one client; each client needs its own.
type Hook struct {
	history        *History
	inTransactions bool
	group          string
	isolation      string
	sends          map[*kgo.Record]open
	process        int64 // that polls
	pollsFromNs    int64
	next           map[partition]int64
}

var _ interface {
	kgo.HookNewClient
	kgo.HookProduceRecordBuffered
	kgo.HookProduceRecordUnbuffered
	kgo.HookPollStart
	kgo.HookFetchRecordUnbuffered
} = (*Hook)(nil)

// Hook returns the hook of one client.
func (h *History) Hook() *Hook {
	return &Hook{history: h, sends: map[*kgo.Record]open{}, next: map[partition]int64{}}
}

// OnNewClient reads from the client's options what its operations have in common.
func (k *Hook) OnNewClient(client *kgo.Client) {
	k.history.mu.Lock()
	defer k.history.mu.Unlock()
	id, _ := client.OptValue(kgo.TransactionalID).(string)
	k.inTransactions = id != ""
	k.group, _ = client.OptValue(kgo.ConsumerGroup).(string)
	k.isolation = "read_uncommitted"
	if level, _ := client.OptValue(kgo.FetchIsolationLevel).(kgo.IsolationLevel); level == kgo.ReadCommitted() {
		k.isolation = "read_committed"
	}
	k.process, k.pollsFromNs = k.history.newProcess(), k.history.now()
}

// OnProduceRecordBuffered gives the record its header; the send begins.
func (k *Hook) OnProduceRecordBuffered(r *kgo.Record) {
	k.history.mu.Lock()
	defer k.history.mu.Unlock()
	value := fmt.Sprintf("%s-%d", k.history.name, k.history.values)
	k.history.values++
	headers := make([]kgo.RecordHeader, 0, len(r.Headers)+1) // the application may send the same record again
	for _, one := range r.Headers {
		if one.Key != header {
			headers = append(headers, one)
		}
	}
	r.Headers = append(headers, kgo.RecordHeader{Key: header, Value: []byte(value)})
	k.sends[r] = open{k.history.openProcess(), k.history.now(), value}
}

// OnProduceRecordUnbuffered records the send.
//
// A record of a transaction has an unknown outcome: a hook does not see whether its transaction commits.
func (k *Hook) OnProduceRecordUnbuffered(r *kgo.Record, failure error) {
	k.history.mu.Lock()
	defer k.history.mu.Unlock()
	send, found := k.sends[r]
	if !found {
		return
	}
	delete(k.sends, r)
	one := row{Process: send.process, F: "send", Outcome: "info", InvokedNs: send.invokedNs, Kind: "send",
		Key: key(r), Value: send.value}
	if failure != nil {
		one.Error = failure.Error()
		for _, never := range neverAppended {
			if errors.Is(failure, never) {
				one.Outcome = "fail"
			}
		}
	} else if !k.inTransactions && r.Offset >= 0 { // acks=0 has no offset
		one.Outcome, one.Offset = "ok", &r.Offset
	}
	k.history.write(one)
	if one.Outcome != "info" { // a process with an unknown outcome ends
		k.history.free = append(k.history.free, send.process)
	}
}

// OnPollStart notes when a poll begins.
func (k *Hook) OnPollStart(context.Context) {
	k.history.mu.Lock()
	defer k.history.mu.Unlock()
	k.pollsFromNs = k.history.now()
}

// OnFetchRecordUnbuffered records each record that a poll returns as an operation of its own.
//
// A record without the header is left out: the history would have no send of it. A hook sees no seeks and
// rebalances. So whenever a partition does not continue where it stopped, the client becomes another process.
func (k *Hook) OnFetchRecordUnbuffered(r *kgo.Record, polled bool) {
	if !polled {
		return
	}
	k.history.mu.Lock()
	defer k.history.mu.Unlock()
	at := partition{r.Topic, r.Partition}
	if expected, before := k.next[at]; before && expected != r.Offset {
		k.process = k.history.newProcess()
	}
	k.next[at] = r.Offset + 1
	for _, one := range r.Headers {
		if one.Key == header {
			k.pollsFromNs = k.history.write(row{Process: k.process, F: "poll", Outcome: "ok", InvokedNs: k.pollsFromNs,
				Kind: "poll", Key: key(r), Offset: &r.Offset, Value: string(one.Value), Group: k.group, Isolation: k.isolation})
		}
	}
}

func key(r *kgo.Record) string { return fmt.Sprintf("%s-%d", r.Topic, r.Partition) }
