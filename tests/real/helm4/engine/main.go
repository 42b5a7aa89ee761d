// Command engine renders charts with Helm's engine as a library in a warm process, and measures the duration.
//
// The command reads lines "CHART<TAB>VALUES<TAB>ROUNDS", and answers each with the nanoseconds of the fastest round. A round merges the
// values and renders the templates; the chart is loaded and its dependencies are processed before.
package main

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
)

func main() {
	log.SetOutput(io.Discard)
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		parts := strings.Split(lines.Text(), "\t")
		rounds, err := strconv.Atoi(parts[2])
		if err != nil {
			log.Fatal(err)
		}
		fastest, err := measure(parts[0], parts[1], rounds)
		if err != nil {
			fmt.Printf("error %v\n", strings.ReplaceAll(err.Error(), "\n", " "))
			continue
		}
		fmt.Println(fastest.Nanoseconds())
	}
}

func measure(path, file string, rounds int) (time.Duration, error) {
	chart, err := loader.Load(path)
	if err != nil {
		return 0, err
	}
	values, err := common.ReadValuesFile(file)
	if err != nil {
		return 0, err
	}
	if err := chartutil.ProcessDependencies(chart, values); err != nil {
		return 0, err
	}
	options := common.ReleaseOptions{Name: "rel", Namespace: "default", Revision: 1, IsInstall: true}
	fastest := time.Duration(0)
	for round := 0; round < rounds; round++ {
		start := time.Now()
		top, err := util.ToRenderValues(chart, values, options, common.DefaultCapabilities)
		if err != nil {
			return 0, err
		}
		if _, err := engine.Render(chart, top); err != nil {
			return 0, err
		}
		if took := time.Since(start); fastest == 0 || took < fastest {
			fastest = took
		}
	}
	return fastest, nil
}
