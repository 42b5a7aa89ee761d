package operator

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applyappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
)

// applier applies only objects that differ from its last apply: a controller that repeats identical writes causes load for
// all watchers.
type applier struct {
	kube      kubernetes.Interface
	informers *operatorInformers
	manager   string
}

func (a applier) options() metav1.ApplyOptions {
	return metav1.ApplyOptions{FieldManager: a.manager, Force: true}
}

func (a applier) configMap(ctx context.Context, wanted *applycorev1.ConfigMapApplyConfiguration) error {
	namespace, name := *wanted.Namespace, *wanted.Name
	existing, err := a.informers.in(namespace).Core().V1().ConfigMaps().Lister().ConfigMaps(namespace).Get(name)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if err == nil {
		applied, err := applycorev1.ExtractConfigMap(existing, a.manager)
		if err != nil {
			return err
		}
		if equality.Semantic.DeepEqual(applied, wanted) {
			return nil
		}
	}
	if _, err := a.kube.CoreV1().ConfigMaps(namespace).Apply(ctx, wanted, a.options()); err != nil {
		return fmt.Errorf("unable to apply configmap %s/%s: %w", namespace, name, err)
	}
	return nil
}

func (a applier) deployment(ctx context.Context, wanted *applyappsv1.DeploymentApplyConfiguration) error {
	namespace, name := *wanted.Namespace, *wanted.Name
	existing, err := a.informers.in(namespace).Apps().V1().Deployments().Lister().Deployments(namespace).Get(name)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if err == nil {
		applied, err := applyappsv1.ExtractDeployment(existing, a.manager)
		if err != nil {
			return err
		}
		if equality.Semantic.DeepEqual(applied, wanted) {
			return nil
		}
	}
	if _, err := a.kube.AppsV1().Deployments(namespace).Apply(ctx, wanted, a.options()); err != nil {
		return fmt.Errorf("unable to apply deployment %s/%s: %w", namespace, name, err)
	}
	return nil
}

// applyStatus applies a controller's part of the status, unless it is unchanged.
func applyStatus(ctx context.Context, client v1helpers.OperatorClient, manager string, status *applyoperatorv1.OperatorStatusApplyConfiguration) error {
	return client.ApplyOperatorStatus(ctx, manager, status)
}

func condition(kind string, status operatorv1.ConditionStatus, reason, message string) *applyoperatorv1.OperatorConditionApplyConfiguration {
	return applyoperatorv1.OperatorCondition().
		WithType(kind).WithStatus(status).WithReason(reason).WithMessage(message)
}

func degraded(kind string, failed error) *applyoperatorv1.OperatorConditionApplyConfiguration {
	if failed != nil {
		return condition(kind, operatorv1.ConditionTrue, "Failed", failed.Error())
	}
	return condition(kind, operatorv1.ConditionFalse, "AsExpected", "")
}

func joined(failures ...error) error {
	return errors.Join(failures...)
}
