// Package program runs one scenario of a Go client, and prints its result as one line of JSON.
package program

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"time"
)

// Args are the brokers of the cluster, the scenario's own topic, and how many records it writes.
type Args struct {
	Servers, Topic string
	Records        int
}

type notOffered string

// NotOffered ends the scenario, because the client has no means for it.
func NotOffered(why string) { panic(notOffered(why)) }

// Check ends the scenario with an error, if there is one.
func Check(err error) {
	if err != nil {
		panic(err)
	}
}

// Expect ends the scenario if the condition is false.
func Expect(condition bool, why string, values ...any) {
	if !condition {
		panic(fmt.Errorf(why, values...))
	}
}

// ExpectOnce ends the scenario unless each wanted value was found exactly once.
func ExpectOnce(found, wanted []string) {
	counts := map[string]int{}
	for _, value := range found {
		counts[value]++
	}
	for _, value := range wanted {
		Expect(counts[value] == 1, "%s was found %d times", value, counts[value])
	}
	Expect(len(counts) == len(wanted), "%d values instead of %d", len(counts), len(wanted))
}

// AwaitUntil ends the scenario if the condition stays false for 40 seconds.
func AwaitUntil(why string, condition func() bool) {
	for deadline := time.Now().Add(40 * time.Second); !condition(); time.Sleep(20 * time.Millisecond) {
		Expect(time.Now().Before(deadline), "after 40 s: %s", why)
	}
}

// Run runs the scenario that the arguments name.
func Run(scenarios map[string]func(Args) string) {
	records, err := strconv.Atoi(os.Args[4])
	Check(err)
	outcome, note := "passed", ""
	func() {
		defer func() {
			switch reason := recover().(type) {
			case nil:
			case notOffered:
				outcome, note = "not offered", string(reason)
			default:
				debug.PrintStack()
				outcome, note = "failed", fmt.Sprint(reason)
			}
		}()
		run, ok := scenarios[os.Args[1]]
		if !ok {
			NotOffered("the client has no API for it")
		}
		note = run(Args{os.Args[2], os.Args[3], records})
	}()
	line, _ := json.Marshal(map[string]string{"outcome": outcome, "note": note})
	fmt.Println(string(line))
}
