# Declarative tests of an operator, for inclusion in its Makefile:
#
#   include path/to/switchboard.mk
#
# test-operator-integration          runs the cases below APPLY_CONFIG_INPUT_DIR
# update-test-operator-integration   takes what comes out now for what is expected; look at the difference before you keep it
#
# Both need a target `build` that makes the programs the cases name. They take the variables of build-machinery-go's mom.mk,
# so either fragment can stand for the other: MOM_CMD says which runner is used.

MOM_CMD ?= switchboard
APPLY_CONFIG_INPUT_DIR ?= ./test-data/apply-configuration
APPLY_CONFIG_OUTPUT_DIR ?= $(or $(ARTIFACT_DIR),./test-output)

test-operator-integration: build
	$(MOM_CMD) test apply-configuration --test-dir="$(APPLY_CONFIG_INPUT_DIR)" \
	  --output-dir="$(APPLY_CONFIG_OUTPUT_DIR)" --preserve-policy=KeepAlways
.PHONY: test-operator-integration

update-test-operator-integration: build
	$(MOM_CMD) test apply-configuration --test-dir="$(APPLY_CONFIG_INPUT_DIR)" \
	  --output-dir="$(APPLY_CONFIG_OUTPUT_DIR)" --replace-expected-output=true
.PHONY: update-test-operator-integration
