package operator

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/version"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/tools/cache"

	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
)

// maxUpstreamBytes is the maximum shown length of an upstream's response.
const maxUpstreamBytes = 1024

// surroundingsController is the live controller. It queries the version of the user workload cluster and the text of the
// upstream, and writes both to a ConfigMap of the configuration cluster. All other controllers, and tests, read this
// ConfigMap and work offline.
type surroundingsController struct {
	*clients
	beacons cache.Store
	apply   applier
}

func newSurroundingsController(from *clients, informers *operatorInformers) factory.Controller {
	c := &surroundingsController{
		clients: from, beacons: informers.beacons.GetStore(),
		apply: applier{kube: from.kube, informers: informers, manager: from.instance.component() + "-Surroundings"},
	}
	return factory.New().
		WithSync(c.sync).
		WithInformers(
			informers.beacons,
			informers.in(from.instance.operatorNamespace()).Core().V1().ConfigMaps().Informer(),
		).
		// There are no events for changes outside.
		ResyncEvery(time.Minute).
		WithControllerInstanceName(instanceName("Surroundings")).
		ToController("Surroundings", from.events.WithComponentSuffix("surroundings"))
}

func (c *surroundingsController) sync(ctx context.Context, _ factory.SyncContext) error {
	beacon, err := beaconFrom(c.beacons, c.instance.Name)
	if err != nil || beacon == nil || !beacon.managed() {
		return err
	}
	seen, failed := c.look(ctx, beacon)
	if failed == nil {
		// No timestamp, which would change the object in every run.
		failed = c.apply.configMap(ctx,
			applycorev1.ConfigMap(surroundingsName, c.instance.operatorNamespace()).WithData(seen))
	}
	return joined(failed, applyStatus(ctx, c.operator, c.apply.manager,
		applyoperatorv1.OperatorStatus().WithConditions(degraded("SurroundingsDegraded", failed))))
}

func (c *surroundingsController) look(ctx context.Context, beacon *beacon) (map[string]string, error) {
	cluster, err := c.clusterVersion(ctx)
	if err != nil {
		return nil, fmt.Errorf("unable to ask the user workload cluster for its version: %w", err)
	}
	seen := map[string]string{"clusterVersion": cluster}
	if beacon.Spec.Upstream != "" {
		text, err := c.upstream(ctx, beacon.Spec.Upstream)
		if err != nil {
			return nil, fmt.Errorf("unable to ask the upstream: %w", err)
		}
		seen["upstream"] = text
	}
	return seen, nil
}

func (c *surroundingsController) clusterVersion(ctx context.Context) (string, error) {
	answer, err := c.outside.userWorkload.Discovery().RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return "", err
	}
	info := version.Info{}
	if err := json.Unmarshal(answer, &info); err != nil {
		return "", err
	}
	return info.GitVersion, nil
}

func (c *surroundingsController) upstream(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	answer, err := c.outside.http.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("it answered %s", answer.Status)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxUpstreamBytes))
	return strings.TrimSpace(string(text)), err
}
