package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// bench reads one case of kind text and parses it once. Then it answers every line, which contains a number of executions, with their
// duration in nanoseconds. The caller controls the timing, so that both sides alternate.
func bench() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	line, err := in.ReadBytes('\n')
	if err != nil {
		panic(err)
	}
	var c textCase
	if err := json.Unmarshal(line, &c); err != nil {
		panic(err)
	}
	data, err := decode(c.Data)
	if err != nil {
		panic(err)
	}
	parsed, err := parse(c)
	if err != nil {
		panic(err)
	}
	var out bytes.Buffer
	for {
		var rounds int
		if _, err := fmt.Fscanln(in, &rounds); err != nil {
			return
		}
		begin := time.Now()
		for range rounds {
			out.Reset()
			if err := parsed.Execute(&out, data); err != nil {
				panic(err)
			}
		}
		fmt.Println(time.Since(begin).Nanoseconds())
	}
}
