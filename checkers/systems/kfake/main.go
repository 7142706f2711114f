// Serves a cluster of kfake until its standard input ends; prints the addresses of its brokers.
// Arguments: the number of brokers, then settings of brokers as name=value.
package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	brokers, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	settings := make(map[string]string)
	for _, setting := range os.Args[2:] {
		name, value, _ := strings.Cut(setting, "=")
		settings[name] = value
	}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(brokers), kfake.BrokerConfigs(settings))
	if err != nil {
		panic(err)
	}
	defer cluster.Close()
	fmt.Println(strings.Join(cluster.ListenAddrs(), ","))
	io.Copy(io.Discard, os.Stdin)
}
