package operator

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	appslisters "k8s.io/client-go/listers/apps/v1"
	"k8s.io/client-go/tools/cache"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
)

// statusController reports the status of the Deployment in the Beacon.
type statusController struct {
	*clients
	beacons     cache.Store
	deployments appslisters.DeploymentLister
}

func newStatusController(from *clients, informers *operatorInformers) factory.Controller {
	deployments := informers.in(from.instance.operandNamespace()).Apps().V1().Deployments()
	c := &statusController{clients: from, beacons: informers.beacons.GetStore(), deployments: deployments.Lister()}
	return factory.New().
		WithSync(c.sync).
		WithInformers(informers.beacons, deployments.Informer()).
		WithControllerInstanceName(instanceName("Status")).
		ToController("Status", from.events.WithComponentSuffix("status"))
}

func (c *statusController) sync(ctx context.Context, _ factory.SyncContext) error {
	beacon, err := beaconFrom(c.beacons, c.instance.Name)
	if err != nil || beacon == nil {
		return err
	}
	deployment, err := c.deployments.Deployments(c.instance.operandNamespace()).Get(deploymentName)
	if apierrors.IsNotFound(err) {
		deployment, err = nil, nil
	}
	if err != nil {
		return err
	}
	return applyStatus(ctx, c.operator, c.instance.component()+"-Status", c.status(deployment))
}

func (c *statusController) status(deployment *appsv1.Deployment) *applyoperatorv1.OperatorStatusApplyConfiguration {
	if deployment == nil {
		return applyoperatorv1.OperatorStatus().WithReadyReplicas(0).WithConditions(
			condition(operatorv1.OperatorStatusTypeAvailable, operatorv1.ConditionFalse, "NoDeployment", "there is no Deployment yet"),
			condition(operatorv1.OperatorStatusTypeProgressing, operatorv1.ConditionTrue, "NoDeployment", "there is no Deployment yet"),
		)
	}
	wanted, have := int32(1), deployment.Status
	if deployment.Spec.Replicas != nil {
		wanted = *deployment.Spec.Replicas
	}
	available := condition(operatorv1.OperatorStatusTypeAvailable, operatorv1.ConditionTrue, "AsExpected", "")
	if have.AvailableReplicas == 0 && wanted > 0 {
		available = condition(operatorv1.OperatorStatusTypeAvailable, operatorv1.ConditionFalse, "NoReplicas", "no replica is available")
	}
	rolledOut := have.ObservedGeneration >= deployment.Generation && have.UpdatedReplicas == wanted && have.AvailableReplicas == wanted
	progressing := condition(operatorv1.OperatorStatusTypeProgressing, operatorv1.ConditionFalse, "AsExpected", "")
	if !rolledOut {
		progressing = condition(operatorv1.OperatorStatusTypeProgressing, operatorv1.ConditionTrue, "RollingOut",
			fmt.Sprintf("%d of %d replicas are up to date, %d available", have.UpdatedReplicas, wanted, have.AvailableReplicas))
	}
	status := applyoperatorv1.OperatorStatus().WithReadyReplicas(have.ReadyReplicas).WithConditions(available, progressing)
	if rolledOut {
		status = status.WithVersion(c.instance.Version)
	}
	return status
}
