// Uses an API server with client-go like a controller: typed clients, shared informers, server-side apply, retries on
// conflict, paged lists and leader election, all with JSON. Prints one line for each passed part; the first failure ends
// the program.
package main

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/pager"
	"k8s.io/client-go/util/retry"
)

const patience = 30 * time.Second

type world struct {
	typed     kubernetes.Interface
	dynamic   dynamic.Interface
	namespace string
}

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	must("read the kubeconfig", err)
	config.ContentType = "application/json"
	config.AcceptContentTypes = "application/json"
	config.QPS = -1
	typed, err := kubernetes.NewForConfig(config)
	must("make a typed client", err)
	untyped, err := dynamic.NewForConfig(config)
	must("make a dynamic client", err)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	ns, err := typed.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "clientgo-"}}, metav1.CreateOptions{})
	must("create a namespace", err)
	w := world{typed: typed, dynamic: untyped, namespace: ns.Name}
	for _, part := range []struct {
		name string
		run  func(context.Context, world)
	}{
		{"discovery", discover},
		{"typed client", typedClient},
		{"conflict", conflict},
		{"apply", apply},
		{"paging", paging},
		{"informer", informer},
		{"dynamic client", dynamicClient},
		{"watch", watch},
		{"leader election", leader},
	} {
		part.run(ctx, w)
		fmt.Println("ok", part.name)
	}
	must("delete the namespace", typed.CoreV1().Namespaces().Delete(ctx, ns.Name, metav1.DeleteOptions{}))
	eventually("the namespace is gone", func() bool {
		_, err := typed.CoreV1().Namespaces().Get(ctx, ns.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	fmt.Println("ok namespace")
}

func discover(_ context.Context, w world) {
	groups, lists, err := w.typed.Discovery().ServerGroupsAndResources()
	must("discover", err)
	if len(groups) < 10 || len(lists) < 10 {
		fail("discovery found %d groups and %d lists", len(groups), len(lists))
	}
	enabled, err := discovery.IsResourceEnabled(w.typed.Discovery(), schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"})
	must("ask for deployments", err)
	if !enabled {
		fail("deployments are not enabled")
	}
	version, err := w.typed.Discovery().ServerVersion()
	must("ask for the version", err)
	if version.Major != "1" {
		fail("the version is %v", version)
	}
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"part": "clientgo"}}, Data: map[string]string{"k": "v"}}
}

func typedClient(ctx context.Context, w world) {
	maps := w.typed.CoreV1().ConfigMaps(w.namespace)
	made, err := maps.Create(ctx, configMap("typed"), metav1.CreateOptions{})
	must("create", err)
	_, err = maps.Create(ctx, configMap("typed"), metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		fail("a second create said %v", err)
	}
	made.Data["k"] = "w"
	changed, err := maps.Update(ctx, made, metav1.UpdateOptions{})
	must("update", err)
	if changed.ResourceVersion == made.ResourceVersion {
		fail("the update did not move the revision")
	}
	patched, err := maps.Patch(ctx, "typed", types.StrategicMergePatchType, []byte(`{"data":{"l":"x"}}`), metav1.PatchOptions{})
	must("patch", err)
	if patched.Data["k"] != "w" || patched.Data["l"] != "x" {
		fail("the patch gave %v", patched.Data)
	}
	replicas := int32(2)
	labels := map[string]string{"app": "web"}
	_, err = w.typed.AppsV1().Deployments(w.namespace).Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}}}},
	}, metav1.CreateOptions{})
	must("create a deployment", err)
	scale, err := w.typed.AppsV1().Deployments(w.namespace).GetScale(ctx, "web", metav1.GetOptions{})
	must("get the scale", err)
	scale.Spec.Replicas = 5
	_, err = w.typed.AppsV1().Deployments(w.namespace).UpdateScale(ctx, "web", scale, metav1.UpdateOptions{})
	must("update the scale", err)
	deployment, err := w.typed.AppsV1().Deployments(w.namespace).Get(ctx, "web", metav1.GetOptions{})
	must("get the deployment", err)
	deployment.Status.Replicas = 5
	deployment, err = w.typed.AppsV1().Deployments(w.namespace).UpdateStatus(ctx, deployment, metav1.UpdateOptions{})
	must("update the status", err)
	if *deployment.Spec.Replicas != 5 || deployment.Status.Replicas != 5 {
		fail("the deployment is %v", deployment)
	}
	background := metav1.DeletePropagationBackground
	must("delete", maps.Delete(ctx, "typed", metav1.DeleteOptions{PropagationPolicy: &background, Preconditions: &metav1.Preconditions{UID: &made.UID}}))
	_, err = maps.Get(ctx, "typed", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		fail("a get after the delete said %v", err)
	}
	_, err = maps.Create(ctx, configMap("Not_A_Name"), metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) {
		fail("a bad name said %v", err)
	}
}

func conflict(ctx context.Context, w world) {
	maps := w.typed.CoreV1().ConfigMaps(w.namespace)
	made, err := maps.Create(ctx, configMap("conflict"), metav1.CreateOptions{})
	must("create", err)
	stale := made.DeepCopy()
	made.Data["k"] = "1"
	_, err = maps.Update(ctx, made, metav1.UpdateOptions{})
	must("update", err)
	_, err = maps.Update(ctx, stale, metav1.UpdateOptions{})
	if !apierrors.IsConflict(err) {
		fail("a stale update said %v", err)
	}
	tries := 0
	must("retry", retry.RetryOnConflict(retry.DefaultRetry, func() error {
		tries++
		if tries > 1 {
			if stale, err = maps.Get(ctx, "conflict", metav1.GetOptions{}); err != nil {
				return err
			}
		}
		stale.Data["retried"] = "yes"
		_, err := maps.Update(ctx, stale, metav1.UpdateOptions{})
		return err
	}))
	if tries != 2 {
		fail("the retry took %d tries", tries)
	}
}

func apply(ctx context.Context, w world) {
	maps := w.typed.CoreV1().ConfigMaps(w.namespace)
	first := applycorev1.ConfigMap("applied", w.namespace).WithData(map[string]string{"a": "1", "b": "1"})
	_, err := maps.Apply(ctx, first, metav1.ApplyOptions{FieldManager: "one"})
	must("apply", err)
	second := applycorev1.ConfigMap("applied", w.namespace).WithData(map[string]string{"a": "2"})
	_, err = maps.Apply(ctx, second, metav1.ApplyOptions{FieldManager: "two"})
	if !apierrors.IsConflict(err) {
		fail("an apply of another's field said %v", err)
	}
	got, err := maps.Apply(ctx, second, metav1.ApplyOptions{FieldManager: "two", Force: true})
	must("force", err)
	extracted, err := applycorev1.ExtractConfigMap(got, "one")
	must("extract", err)
	if len(extracted.Data) != 1 || extracted.Data["b"] != "1" {
		fail("one owns %v", extracted.Data)
	}
}

func paging(ctx context.Context, w world) {
	maps := w.typed.CoreV1().ConfigMaps(w.namespace)
	for i := range 25 {
		_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("page-%02d", i), Labels: map[string]string{"part": "paging"}}}, metav1.CreateOptions{})
		must("create", err)
	}
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return maps.List(ctx, options)
	})
	pages.PageSize = 10
	seen := 0
	must("page", pages.EachListItem(ctx, metav1.ListOptions{LabelSelector: "part=paging"}, func(runtime.Object) error {
		seen++
		return nil
	}))
	if seen != 25 {
		fail("paging saw %d objects", seen)
	}
	must("delete the collection", maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "part=paging"}))
}

func informer(ctx context.Context, w world) {
	maps := w.typed.CoreV1().ConfigMaps(w.namespace)
	_, err := maps.Create(ctx, configMap("before"), metav1.CreateOptions{})
	must("create", err)
	factory := informers.NewSharedInformerFactoryWithOptions(w.typed, 0, informers.WithNamespace(w.namespace),
		informers.WithTweakListOptions(func(options *metav1.ListOptions) { options.LabelSelector = "part=clientgo" }))
	shared := factory.Core().V1().ConfigMaps()
	var added, updated, deleted atomic.Int32
	handler, err := shared.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { added.Add(1) },
		UpdateFunc: func(any, any) { updated.Add(1) },
		DeleteFunc: func(any) { deleted.Add(1) },
	})
	must("add a handler", err)
	stop, cancel := context.WithCancel(ctx)
	defer cancel()
	factory.Start(stop.Done())
	for kind, synced := range factory.WaitForCacheSync(stop.Done()) {
		if !synced {
			fail("%v did not sync", kind)
		}
	}
	if !cache.WaitForCacheSync(stop.Done(), handler.HasSynced) {
		fail("the handler did not sync")
	}
	listed, err := shared.Lister().ConfigMaps(w.namespace).Get("before")
	must("read the cache", err)
	base := added.Load()
	_, err = maps.Create(ctx, configMap("after"), metav1.CreateOptions{})
	must("create", err)
	changed := listed.DeepCopy()
	changed.Data["k"] = "changed"
	_, err = maps.Update(ctx, changed, metav1.UpdateOptions{})
	must("update", err)
	must("delete", maps.Delete(ctx, "before", metav1.DeleteOptions{}))
	// The object no longer matches the selector, so the informer receives a deletion.
	_, err = maps.Patch(ctx, "after", types.MergePatchType, []byte(`{"metadata":{"labels":{"part":"other"}}}`), metav1.PatchOptions{})
	must("patch", err)
	eventually("the informer saw all events", func() bool {
		return added.Load() == base+1 && updated.Load() >= 1 && deleted.Load() == 2
	})
	if _, err := shared.Lister().ConfigMaps(w.namespace).Get("before"); !apierrors.IsNotFound(err) {
		fail("the cache still has the object: %v", err)
	}
}

func dynamicClient(ctx context.Context, w world) {
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	group := w.namespace + ".example.com"
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "widgets." + group},
		"spec": map[string]any{"group": group, "scope": "Namespaced",
			"names": map[string]any{"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}},
	}}
	_, err := w.dynamic.Resource(definitions).Create(ctx, definition, metav1.CreateOptions{})
	must("create a definition", err)
	widgets := w.dynamic.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "widgets"}).Namespace(w.namespace)
	widget := &unstructured.Unstructured{Object: map[string]any{"apiVersion": group + "/v1", "kind": "Widget", "metadata": map[string]any{"name": "w"}, "spec": map[string]any{"size": int64(3)}}}
	eventually("the definition is served", func() bool {
		_, err := widgets.Create(ctx, widget, metav1.CreateOptions{})
		return err == nil
	})
	got, err := widgets.Get(ctx, "w", metav1.GetOptions{})
	must("get", err)
	if size, _, _ := unstructured.NestedInt64(got.Object, "spec", "size"); size != 3 {
		fail("the widget is %v", got.Object)
	}
	must("delete the definition", w.dynamic.Resource(definitions).Delete(ctx, "widgets."+group, metav1.DeleteOptions{}))
}

func watch(ctx context.Context, w world) {
	maps := w.typed.CoreV1().ConfigMaps(w.namespace)
	list, err := maps.List(ctx, metav1.ListOptions{})
	must("list", err)
	watcher, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion, AllowWatchBookmarks: true})
	must("watch", err)
	defer watcher.Stop()
	_, err = maps.Create(ctx, configMap("watched"), metav1.CreateOptions{})
	must("create", err)
	must("delete", maps.Delete(ctx, "watched", metav1.DeleteOptions{}))
	for _, want := range []string{"ADDED", "DELETED"} {
		select {
		case event := <-watcher.ResultChan():
			if string(event.Type) != want {
				fail("the watch said %v, not %s", event, want)
			}
		case <-time.After(patience):
			fail("the watch was silent")
		}
	}
}

func leader(ctx context.Context, w world) {
	lock := &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Name: "leader", Namespace: w.namespace}, Client: w.typed.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: "me"}}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	led := make(chan struct{})
	go leaderelection.RunOrDie(inner, leaderelection.LeaderElectionConfig{Lock: lock, ReleaseOnCancel: true,
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) { close(led) }, OnStoppedLeading: func() {}}})
	select {
	case <-led:
	case <-time.After(patience):
		fail("no replica is the leader")
	}
}

func eventually(what string, holds func() bool) {
	err := wait.PollUntilContextTimeout(context.Background(), 50*time.Millisecond, patience, true, func(context.Context) (bool, error) { return holds(), nil })
	must("wait until "+what, err)
}

func must(what string, err error) {
	if err != nil {
		fail("could not %s: %v", what, err)
	}
}

func fail(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", arguments...)
	os.Exit(1)
}
