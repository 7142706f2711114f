// Package kfake gives franz-go's kfake tests a served broker of Urteil instead of a fake cluster.
//
// It declares the names of kfake's interface that are requests of Kafka, or options of `urteil
// broker`. A test that needs any other name of kfake does not compile, and is left out.
package kfake

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	requestWithin = 10 * time.Second
	stopWithin    = 20 * time.Second
)

// Cluster is a served broker in a process of its own.
type Cluster struct {
	process *exec.Cmd
	stdin   io.Closer
	addrs   []string
	client  *kgo.Client
	admin   *kadm.Client
}

// NewCluster starts `urteil broker`, whose command line is in URTEIL_BROKER as a JSON array.
func NewCluster(opts ...Opt) (*Cluster, error) {
	cfg := config{brokers: 3, partitions: 10, settings: make(map[string]string)}
	for _, opt := range opts {
		opt(&cfg)
	}
	var words []string
	if err := json.Unmarshal([]byte(os.Getenv("URTEIL_BROKER")), &words); err != nil {
		return nil, fmt.Errorf("URTEIL_BROKER: %w", err)
	}
	words = append(words, cfg.words()...)
	process := exec.Command(words[0], words[1:]...)
	process.Stderr = os.Stderr
	stdin, err := process.StdinPipe() // when it closes, the broker ends
	if err != nil {
		return nil, err
	}
	stdout, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	c := &Cluster{process: process, stdin: stdin}
	if err := c.ready(stdout); err != nil {
		c.Close()
		return nil, err
	}
	if err := c.seed(cfg); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) ready(stdout io.Reader) error {
	var event struct {
		Servers string `json:"bootstrap_servers"`
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if json.Unmarshal(lines.Bytes(), &event) == nil && event.Servers != "" {
			c.addrs = strings.Split(event.Servers, ",")
			go io.Copy(io.Discard, stdout)
			var err error
			if c.client, err = kgo.NewClient(kgo.SeedBrokers(c.addrs...)); err != nil {
				return err
			}
			c.admin = kadm.NewClient(c.client)
			return nil
		}
	}
	return errors.New("the served broker did not start")
}

func (c *Cluster) seed(cfg config) error {
	for topic, partitions := range cfg.topics {
		if err := c.CreateTopic(topic, partitions, nil); err != nil {
			return fmt.Errorf("topic %s: %w", topic, err)
		}
	}
	return nil
}

// ListenAddrs returns the addresses of all brokers.
func (c *Cluster) ListenAddrs() []string { return c.addrs }

// Close stops the brokers.
func (c *Cluster) Close() {
	if c.process == nil {
		return
	}
	if c.client != nil {
		c.client.Close()
	}
	ended := make(chan struct{})
	process := c.process
	c.process = nil
	go func() { process.Wait(); close(ended) }()
	process.Process.Signal(syscall.SIGTERM)
	select {
	case <-ended:
	case <-time.After(stopWithin):
		process.Process.Kill()
		<-ended
	}
	c.stdin.Close()
}

// Opt is an option of a cluster.
type Opt func(*config)

type config struct {
	brokers    int
	partitions int32
	topics     map[string]int32
	settings   map[string]string
	more       []string
}

func (cfg config) words() []string {
	words := append([]string{"--brokers", strconv.Itoa(cfg.brokers)}, cfg.more...)
	for name, value := range cfg.settings {
		words = append(words, "--broker-config", name+"="+value)
	}
	return words
}

// NumBrokers sets the number of brokers.
func NumBrokers(n int) Opt { return func(cfg *config) { cfg.brokers = n } }

// DefaultNumPartitions sets the number of partitions of topics without one, also of seeded ones.
func DefaultNumPartitions(n int) Opt {
	return func(cfg *config) {
		cfg.partitions = int32(n)
		cfg.settings["num.partitions"] = strconv.Itoa(n)
	}
}

// SeedTopics creates topics.
func SeedTopics(partitions int32, topics ...string) Opt {
	return func(cfg *config) {
		if cfg.topics == nil {
			cfg.topics = make(map[string]int32)
		}
		for _, topic := range topics {
			if cfg.topics[topic] = partitions; partitions <= 0 {
				cfg.topics[topic] = cfg.partitions
			}
		}
	}
}

// BrokerConfigs sets broker settings.
func BrokerConfigs(configs map[string]string) Opt {
	return func(cfg *config) {
		for name, value := range configs {
			cfg.settings[name] = value
		}
	}
}

// GroupMinSessionTimeout sets group.min.session.timeout.ms.
func GroupMinSessionTimeout(d time.Duration) Opt {
	value := strconv.FormatInt(d.Milliseconds(), 10)
	return BrokerConfigs(map[string]string{"group.min.session.timeout.ms": value})
}

// GroupMaxSessionTimeout sets group.max.session.timeout.ms.
func GroupMaxSessionTimeout(d time.Duration) Opt {
	value := strconv.FormatInt(d.Milliseconds(), 10)
	return BrokerConfigs(map[string]string{"group.max.session.timeout.ms": value})
}

// AllowAutoTopicCreation sets auto.create.topics.enable.
func AllowAutoTopicCreation() Opt {
	return func(cfg *config) { cfg.more = append(cfg.more, "--auto-create-topics") }
}

// DataDir sets the folder of the data.
func DataDir(folder string) Opt {
	return func(cfg *config) { cfg.more = append(cfg.more, "--data-dir", folder) }
}

func within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), requestWithin)
}
