// Checks a metrics page on stdin as `promtool check metrics` does, and prints a line per problem.
package main

import (
	"fmt"
	"os"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

func main() {
	problems, err := promlint.New(os.Stdin).Lint()
	if err != nil {
		fmt.Fprintln(os.Stderr, "could not parse the metrics:", err)
		os.Exit(2)
	}
	for _, problem := range problems {
		fmt.Println(problem.Metric, problem.Text)
	}
}
