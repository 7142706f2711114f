// go run . 127.0.0.1:9092 http://127.0.0.1:8474
package main

import (
	"context"
	"io"
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

func control(method, path, json string) string {
	request, err := http.NewRequest(method, os.Args[2]+path, strings.NewReader(json))
	check(err)
	response, err := http.DefaultClient.Do(request)
	check(err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	check(err)
	if response.StatusCode >= 400 {
		log.Fatalf("%s", body)
	}
	return string(body)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	control("POST", "/topics", `{"name": "orders-go"}`)
	control("POST", "/faults", `{"do": "disconnect", "when": {"api": "Produce", "topic": "orders-go", "applied": true, "nth": 1}}`)
	producer, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(os.Args[1], ",")...)) // idempotent by default
	check(err)
	defer producer.Close()
	record := &kgo.Record{Topic: "orders-go", Value: []byte("one")}
	check(producer.ProduceSync(context.Background(), record).FirstErr()) // the first response is lost
	requests := control("GET", "/requests?api=Produce&topic=orders-go&count=2&wait_ms=5000", "")
	if record.Offset != 0 || strings.Count(requests, `"answered": true`) != 1 {
		log.Fatalf("offset %d: %s", record.Offset, requests)
	}
}
