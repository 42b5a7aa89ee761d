package operator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applyappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/tools/cache"

	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
)

// workloadController converts a Beacon, its banners and the recorded surroundings to a ConfigMap and a Deployment on the
// management cluster, and a ConfigMap for users on the user workload cluster.
type workloadController struct {
	*clients
	informers *operatorInformers
	beacons   cache.Store
	apply     applier
}

func newWorkloadController(from *clients, informers *operatorInformers) factory.Controller {
	c := &workloadController{
		clients: from, informers: informers, beacons: informers.beacons.GetStore(),
		apply: applier{kube: from.kube, informers: informers, manager: from.instance.component() + "-Workload"},
	}
	operand := informers.in(from.instance.operandNamespace())
	return factory.New().
		WithSync(c.sync).
		WithInformers(
			informers.beacons,
			informers.in("").Core().V1().Namespaces().Informer(),
			operand.Core().V1().ConfigMaps().Informer(),
			operand.Apps().V1().Deployments().Informer(),
			informers.in(from.instance.operatorNamespace()).Core().V1().ConfigMaps().Informer(),
			informers.in(publicNamespace).Core().V1().ConfigMaps().Informer(),
		).
		WithControllerInstanceName(instanceName("Workload")).
		ToController("Workload", from.events.WithComponentSuffix("workload"))
}

func (c *workloadController) sync(ctx context.Context, _ factory.SyncContext) error {
	beacon, err := beaconFrom(c.beacons, c.instance.Name)
	if err != nil || beacon == nil || !beacon.managed() {
		return err
	}
	failed := c.reconcile(ctx, beacon)
	return joined(failed, applyStatus(ctx, c.operator, c.apply.manager,
		applyoperatorv1.OperatorStatus().WithConditions(degraded("WorkloadDegraded", failed))))
}

func (c *workloadController) reconcile(ctx context.Context, beacon *beacon) error {
	banners, err := c.banners(beacon)
	if err != nil {
		return err
	}
	if err := c.ensureNamespace(ctx); err != nil {
		return fmt.Errorf("unable to create namespace %q: %w", c.instance.operandNamespace(), err)
	}
	surroundings := c.surroundings()
	shown := render(banners, surroundings)
	if err := c.apply.configMap(ctx, applycorev1.ConfigMap(configName, c.instance.operandNamespace()).
		WithData(map[string]string{"beacon.txt": shown})); err != nil {
		return err
	}
	if err := c.apply.deployment(ctx, c.deployment(beacon, shown)); err != nil {
		return err
	}
	return c.apply.configMap(ctx, applycorev1.ConfigMap(c.instance.publicName(), publicNamespace).
		WithData(map[string]string{"banners": fmt.Sprint(len(banners)), "clusterVersion": surroundings["clusterVersion"]}))
}

// banners returns the texts of the banners in the user's order.
func (c *workloadController) banners(beacon *beacon) ([]string, error) {
	lister := c.informers.in(c.instance.operatorNamespace()).Core().V1().ConfigMaps().Lister()
	var texts, missing []string
	for _, banner := range beacon.Spec.Banners {
		found, err := lister.ConfigMaps(c.instance.operatorNamespace()).Get(banner.Name)
		switch {
		case apierrors.IsNotFound(err):
			missing = append(missing, banner.Name)
		case err != nil:
			return nil, err
		default:
			texts = append(texts, strings.TrimSpace(found.Data["text"]))
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("banners not found in namespace %q: %s",
			c.instance.operatorNamespace(), strings.Join(missing, ", "))
	}
	return texts, nil
}

// surroundings contains the data of the live controller, the only external data of the offline controllers.
func (c *workloadController) surroundings() map[string]string {
	lister := c.informers.in(c.instance.operatorNamespace()).Core().V1().ConfigMaps().Lister()
	found, err := lister.ConfigMaps(c.instance.operatorNamespace()).Get(surroundingsName)
	if err != nil {
		return map[string]string{"clusterVersion": "unknown"}
	}
	return found.Data
}

func (c *workloadController) ensureNamespace(ctx context.Context) error {
	name := c.instance.operandNamespace()
	_, err := c.informers.in("").Core().V1().Namespaces().Lister().Get(name)
	if !apierrors.IsNotFound(err) {
		return err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err = c.kube.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{FieldManager: c.apply.manager})
	if err == nil {
		c.events.WithContext(ctx).Eventf("NamespaceCreated", "Created namespace %q because it was missing", name)
	}
	return err
}

func render(banners []string, surroundings map[string]string) string {
	lines := append([]string{}, banners...)
	lines = append(lines, "cluster "+surroundings["clusterVersion"])
	if upstream := surroundings["upstream"]; upstream != "" {
		lines = append(lines, upstream)
	}
	return strings.Join(lines, "\n") + "\n"
}

func (c *workloadController) deployment(beacon *beacon, shown string) *applyappsv1.DeploymentApplyConfiguration {
	replicas := int32(1)
	if beacon.Spec.Replicas != nil {
		replicas = *beacon.Spec.Replicas
	}
	sum := sha256.Sum256([]byte(shown))
	labels := map[string]string{"app": "beacon"}
	container := applycorev1.Container().WithName("beacon").WithImage(c.instance.Image).
		WithArgs("--show=/etc/beacon/beacon.txt").
		WithPorts(applycorev1.ContainerPort().WithContainerPort(8080).WithProtocol(corev1.ProtocolTCP)).
		WithVolumeMounts(applycorev1.VolumeMount().WithName("config").WithMountPath("/etc/beacon"))
	return applyappsv1.Deployment(deploymentName, c.instance.operandNamespace()).
		WithLabels(labels).
		WithSpec(applyappsv1.DeploymentSpec().
			WithReplicas(replicas).
			WithSelector(applymetav1.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(applycorev1.PodTemplateSpec().
				WithLabels(labels).
				// Replaces the pods if the shown content has changed.
				WithAnnotations(map[string]string{"beacon.example.com/config-hash": hex.EncodeToString(sum[:8])}).
				WithSpec(applycorev1.PodSpec().
					WithContainers(container).
					WithVolumes(applycorev1.Volume().WithName("config").
						WithConfigMap(applycorev1.ConfigMapVolumeSource().WithName(configName))))))
}
