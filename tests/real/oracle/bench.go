package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// bench reads one case of kind text, parses it once, and then answers every line with the nanoseconds of as many
// executions as the line says. The other side of the measurement decides when, so that both take turns.
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
