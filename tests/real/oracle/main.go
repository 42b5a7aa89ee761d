// Reference implementation for the template and chart tests: runs cases with the Go packages.
//
// Reads one case per line from standard input, and writes one answer per line to standard output, in the same order:
//
//	{"kind": "text", "template": "{{ .a }}", "data": {"a": 1}}    ->  {"out": "1", "err": ""}
//
// Each kind has its own file, with its function in the table below. `oracle bench` measures durations; see bench.go.
package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"unicode/utf8"
)

// answer is the result of a case: the output, complete or up to the error, and the error message.
type answer struct {
	Out string `json:"out"`
	// Output in base64 if it is not UTF-8.
	Bytes string `json:"bytes,omitempty"`
	Err   string `json:"err"`
}

var kinds = map[string]func(json.RawMessage) (string, error){
	"helm": helm,
	"text": text,
}

func answerTo(line []byte) (result answer) {
	var head struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return answer{Err: "oracle: " + err.Error()}
	}
	run, ok := kinds[head.Kind]
	if !ok {
		return answer{Err: fmt.Sprintf("oracle: no kind %q", head.Kind)}
	}
	defer func() {
		if r := recover(); r != nil {
			result = answer{Err: fmt.Sprintf("panic: %v", r)}
		}
	}()
	out, err := run(line)
	if err != nil {
		result.Err = err.Error()
	}
	if utf8.ValidString(out) {
		result.Out = out
	} else {
		result.Bytes = base64.StdEncoding.EncodeToString([]byte(out))
	}
	return result
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "bench" {
		bench()
		return
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			if err := out.Encode(answerTo(line)); err != nil {
				panic(err)
			}
		}
		if err != nil {
			return
		}
	}
}
