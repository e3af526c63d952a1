# Every target with a comment after its name is shown by `make help`.

.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

# Where data, scratch and the scientific Python lie.
MOLFABRIC_HOME ?= $(CURDIR)/.molfabric
export MOLFABRIC_HOME
# The Node that set-up has installed on a machine without a usable one.
export PATH := $(MOLFABRIC_HOME)/node/bin:$(PATH)

VERSION = $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

# What `make test` tests, e.g. make test PACKAGES=./billing/... TESTFLAGS='-run Hold'
PACKAGES ?= ./...
export TESTFLAGS ?=

# What `make bench` measures, e.g. make bench BENCH='--only B4'
BENCH ?=

# What `make redock` measures: folders with a cases.tsv, and how, e.g. make redock CASES=structures REDOCK='--only 1acj,1eve'
CASES ?=
REDOCK ?=

# Which rows of the scorecard `make chaos` runs, and with which choices, e.g. make chaos ONLY=R6 SEED=7
ONLY ?=
SEED ?=
# How many histories `make sim` plays, and from which seed on; SEED alone with HISTORIES=1 replays one.
HISTORIES ?= 100000

# What `make director` judges besides the repository's own sentences, and how, e.g. make director SENTENCES=mine.jsonl
# DIRECTOR='--structures structures --json report.json'
SENTENCES ?=
DIRECTOR ?=

# Which images `make images` builds, the key that signs them, the repository that the signatures name, and how they are built, e.g.
# make images IMAGES='control docking' KEY=images.key AT=registry.example.org/molfabric BUILD=--fresh
IMAGES ?=
KEY ?= $(MOLFABRIC_HOME)/images.key
AT ?= molfabric
BUILD ?=

# KEDA=operator has `make test-kubernetes` run KEDA's own operator and not play its part.
KEDA ?=

# Another vulnerability database for `make lint`, e.g. VULNDB=file:///srv/vulndb
VULNDB ?=

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Set-up waits for downloads while the compiler works. Where set-up had to bring Node, the second build puts the web app in.
.PHONY: demo
demo: ## Install what it needs, start and dock imatinib back into its kinase, from sign-up to the bill
	@$(MAKE) --no-print-directory -j2 setup-demo build
	@$(MAKE) --no-print-directory build
	@bin/molfabric demo --home "$$MOLFABRIC_HOME"

.PHONY: setup-demo
setup-demo:
	@deploy/setup.sh --demo

# exec: Ctrl-C and a SIGTERM reach molfabric itself, which then stops everything it started.
.PHONY: up
up: setup build ## Install and start molfabric on this machine; Ctrl-C stops all of it
	@exec bin/molfabric up --home "$$MOLFABRIC_HOME"

.PHONY: setup
setup: ## Install what is missing: Postgres, Redis, bubblewrap, the scientific Python, Go modules
	@deploy/setup.sh

.PHONY: setup-waves
setup-waves: ## Build SWAN, the model of waves near the shore, from its source
	@deploy/setup.sh --waves

.PHONY: setup-fold
setup-fold: ## Install what folds proteins beside the rest: Debian's torch and ColabFold, environments of their own
	@deploy/setup.sh --fold

# The program carries the web app. Without Node, and without an app that was built before, it says so where the app would be.
.PHONY: web
web: ## Build the web app that make build puts into the program; needs Node of 20.19 or newer
	@api/web/build.sh --if-possible

# Without cgo the binaries run on any Linux, whatever its C library: a second machine joins as a worker with a copy of molfabric
# alone. molfabric-store is the object store that `molfabric up` starts.
.PHONY: build
build: web ## Build bin/molfabric and bin/molfabric-store
	@CGO_ENABLED=0 go build -trimpath -ldflags '-X main.version=$(VERSION)' -o bin/ . ./internal/object/molfabric-store

# What molfabric is tried with: no user needs it.
.PHONY: lab
lab: build ## Build bin/molfabric-lab: benchmarks, chaos, the simulation, the judge of sentences
	@CGO_ENABLED=0 go build -trimpath -ldflags '-X main.version=$(VERSION)' -o bin/molfabric-lab ./internal/lab

.PHONY: setup-tests
setup-tests:
	@deploy/setup.sh --tests

# What the tests are run with, all built from source.
tools := gotestsum oasdiff minio stripe-mock oidc-provider keda-scaledjobs.yaml promql

.PHONY: tools
tools: $(tools:%=bin/tools/%)

# Set-up waits for downloads while the compiler works.
.PHONY: test
test: ## Run all tests; PACKAGES and TESTFLAGS narrow them
	@$(MAKE) --no-print-directory -j2 setup-tests tools
	@MOLFABRIC_PYTHON="$$MOLFABRIC_HOME/python/bin/python" MOLFABRIC_CONTRACT="$$MOLFABRIC_HOME/contract" \
		bin/tools/gotestsum --format pkgname-and-test-fails --format-hide-empty-pkg --hide-summary output --jsonfile bin/test.json \
		--post-run-command .ci/tally --raw-command -- .ci/test $(PACKAGES)

# The detector finds nothing in the simulation, each of whose histories is one goroutine's, nor in the tests that read the sources,
# those of the adapters, which wait for programs, and those that drive a system from outside.
.PHONY: test-race
test-race: ## Run with the race detector the tests of all packages whose goroutines share something
	@TESTFLAGS="-race $$TESTFLAGS" \
		PACKAGES="$$(go list ./... | grep -v '/engines\|/internal/\(e2e\|arch\|lab\)' | tr '\n' ' ')" \
		$(MAKE) --no-print-directory test

.PHONY: test-long
test-long: ## Run the tests of make test, and those that lose workers, dock known structures again and fuzz for longer
	@MOLFABRIC_TEST_LONG=1 $(MAKE) --no-print-directory test

# The control plane is none of the tools of make test: to build it takes longer than what it is needed for.
.PHONY: test-kubernetes
test-kubernetes: ## Install the chart into a real control plane on loopback, and work there; KEDA=operator: with KEDA's own
	@$(MAKE) --no-print-directory -j2 setup-tests bin/tools/kube bin/tools/keda-scaledjobs.yaml \
		$(KEDA:operator=bin/tools/keda/operator)
	@MOLFABRIC_TEST_KUBERNETES=1 MOLFABRIC_TEST_KEDA="$(KEDA:operator=$(CURDIR)/bin/tools/keda)" \
		MOLFABRIC_TEST_REQUIRE=1 MOLFABRIC_PYTHON="$$MOLFABRIC_HOME/python/bin/python" \
		go test ./internal/lab/chaos -run TestKubernetes -count=1 -v -timeout 30m

# The key of who builds is made once, and never leaves the machine.
.PHONY: images
images: build bin/molfabric-images ## Build, list and sign container images without a daemon; IMAGES='control docking' narrows it
	@deploy/setup.sh --images
	@[ -e "$(KEY)" ] || bin/molfabric-images key "$(KEY)"
	@bin/molfabric-images build $(IMAGES) --components "$$MOLFABRIC_HOME/components.jsonl.gz" --key "$(KEY)" --at "$(AT)" \
		--syft "$$MOLFABRIC_HOME/syft/bin/syft" $(BUILD)

.PHONY: test-images
test-images: bin/molfabric-images ## Check the images that make images has built, and have each do a piece of work
	@$(MAKE) --no-print-directory setup-tests
	@bin/molfabric-images verify --key "$(KEY).pub"
	@MOLFABRIC_TEST_IMAGES="$$MOLFABRIC_HOME/oci" MOLFABRIC_TEST_REQUIRE=1 MOLFABRIC_PYTHON="$$MOLFABRIC_HOME/python/bin/python" \
		go test ./internal/e2e -run 'TestImages$$' -count=1 -v -timeout 30m

# Docker is the machine's own: an operator has one.
.PHONY: test-compose
test-compose: bin/tools/docker-compose ## Run compose.yaml with Docker, another release and back, with what make images has built
	@deploy/setup.sh --images
	@MOLFABRIC_TEST_COMPOSE="$(CURDIR)/$<" MOLFABRIC_TEST_IMAGES="$$MOLFABRIC_HOME/oci" MOLFABRIC_TEST_REQUIRE=1 \
		go test ./internal/e2e -run 'TestCompose$$' -count=1 -v -timeout 30m

.PHONY: bin/molfabric-images
bin/molfabric-images:
	@CGO_ENABLED=0 go build -trimpath -ldflags '-X main.version=$(VERSION)' -o $@ ./deploy/images/molfabric-images

.PHONY: check
check: ## Check the formatting, then vet and test the packages whose tests need no server and no engine; needs Go alone
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$unformatted" ] || { echo "not formatted: $$unformatted"; exit 1; }
	@packages=$$(.ci/serverless); go vet $$packages && go test -vet=off $$packages

.PHONY: chaos
chaos: setup-tests lab ## Break it and see whether it keeps its promises, three quarters of an hour; ONLY=R6 SEED=7 narrows it
	@MOLFABRIC_PYTHON="$$MOLFABRIC_HOME/python/bin/python" MOLFABRIC_CONTRACT="$$MOLFABRIC_HOME/contract" bin/molfabric-lab chaos --home "$$MOLFABRIC_HOME" $(if $(ONLY),--only $(ONLY)) $(if $(SEED),--seed $(SEED))

.PHONY: sim
sim: lab ## Play histories of the scheduler in memory, with faults at every step
	@bin/molfabric-lab sim --histories $(HISTORIES) --planted all $(if $(SEED),--seed $(SEED))

.PHONY: director
director: lab ## Judge how sentences about scenes are understood, by the scenes that come of them; SENTENCES=mine.jsonl adds to them
	@bin/molfabric-lab director --time internal/director/testdata/public.jsonl internal/lab/director/testdata/own.jsonl $(SENTENCES) $(DIRECTOR)

.PHONY: bench
bench: setup lab ## Measure against peers on this machine, an hour and a half; BENCH='--only B4' narrows it
	@bin/molfabric-lab bench --home "$$MOLFABRIC_HOME" $(BENCH)

.PHONY: redock
redock: setup lab ## Dock the ligands of known structures again, beside bare Vina: CASES=folder; REDOCK='--only 1acj' narrows it
	@bin/molfabric-lab bench redock --home "$$MOLFABRIC_HOME" $(foreach cases,$(CASES),--cases "$(cases)") $(REDOCK)

.PHONY: fuzz
fuzz: setup-tests ## Attack a running system for ten minutes with what its OpenAPI document allows and forbids
	@MOLFABRIC_PYTHON="$$MOLFABRIC_HOME/python/bin/python" MOLFABRIC_CONTRACT="$$MOLFABRIC_HOME/contract" MOLFABRIC_TEST_REQUIRE=1 \
		MOLFABRIC_TEST_LONG=1 MOLFABRIC_FUZZ_SECONDS="$${MOLFABRIC_FUZZ_SECONDS:-600}" \
		go test ./internal/e2e -run TestFuzzerFindsNothing -count=1 -v -timeout 30m

.PHONY: lint-tools
lint-tools: bin/tools/golangci-lint bin/tools/govulncheck

.PHONY: lint
lint: lint-tools ## Check the sources with golangci-lint and for known vulnerabilities
	@bin/tools/golangci-lint run
	@.ci/vulnerabilities "$(VULNDB)"

.PHONY: fmt
fmt: bin/tools/golangci-lint ## Format the Go sources
	@bin/tools/golangci-lint fmt

.PHONY: clean
clean: ## Remove what was built
	@rm -rf bin coverage.out

.PHONY: reset
reset: ## Stop molfabric and remove its local accounts, jobs and files
	@deploy/reset.sh "$$MOLFABRIC_HOME"

golangci-lint = github.com/golangci/golangci-lint/v2/cmd/golangci-lint
govulncheck = golang.org/x/vuln/cmd/govulncheck
gotestsum = gotest.tools/gotestsum

# A second S3 server beside the embedded one, Stripe's own mock server, an OpenID provider and a comparison of OpenAPI documents:
# what tests run
# against, never what the product is made of.
bin/tools/minio: .ci/s3/go.mod .ci/s3/go.sum
	@echo "building MinIO from source (the first time this takes about two minutes)"
	@go build -C .ci/s3 -ldflags '-s -w' -o ../../$@ github.com/minio/minio

bin/tools/stripe-mock: .ci/stripe/go.mod .ci/stripe/go.sum
	@echo "building stripe-mock from source"
	@go build -C .ci/stripe -o ../../$@ github.com/stripe/stripe-mock

bin/tools/oidc-provider: .ci/oidc/go.mod .ci/oidc/go.sum .ci/oidc/main.go
	@echo "building an OpenID provider from source"
	@go build -C .ci/oidc -o ../../$@ .

bin/tools/oasdiff: .ci/contract/go.mod .ci/contract/go.sum
	@echo "building oasdiff from source"
	@go build -C .ci/contract -o ../../$@ github.com/oasdiff/oasdiff

bin/tools/keda-scaledjobs.yaml: .ci/kubernetes/keda
	@.ci/kubernetes/keda definition $@

bin/tools/docker-compose: .ci/module
	@echo "building Docker Compose from source (a few minutes the first time)"
	@go build -C "$$(.ci/module github.com/docker/compose/v2@v2.40.3 h1:XeYkQu1svDtyfZPv5nTwFryQ25ZJMkIlc4pz9HalMPI=)" \
		-trimpath -ldflags '-s -w' -o "$(CURDIR)/$@" ./cmd

bin/tools/keda/operator: .ci/kubernetes/keda
	@echo "building KEDA's operator from source (twelve minutes of a core the first time)"
	@.ci/kubernetes/keda operator $(@D)

# Helm and the API server read which version it is.
version_of_kube := $(foreach set,gitVersion=v1.37.2 gitMajor=1 gitMinor=37,-X k8s.io/component-base/version.$(set))
bin/tools/kube: .ci/controlplane/go.mod .ci/controlplane/go.sum .ci/controlplane/main.go
	@echo "building the control plane of Kubernetes from source (708 MB to download, ten minutes of two cores the first time)"
	@go build -C .ci/controlplane -ldflags '-s -w $(version_of_kube)' -o ../../$@ .

bin/tools/promql: .ci/promql/go.mod .ci/promql/go.sum .ci/promql/main.go
	@echo "building the reader of Prometheus' queries from source"
	@go build -C .ci/promql -ldflags '-s -w' -o ../../$@ .

bin/tools/%: .ci/tools/go.mod .ci/tools/go.sum
	@echo "building $* from source (the first time this takes up to two minutes)"
	@go build -C .ci/tools -o ../../$@ $($*)
