# make run   starts Belay on this machine, with a Postgres of its own
# make test  runs all tests
# make help  lists the rest

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

GO ?= go
# Arguments for run and bench: make run ARGS="--nodes 2"
ARGS ?=
# Arguments for the Go tests: make test TESTARGS="-run Stop -v"
TESTARGS ?=
GOFILES = $$(git ls-files --cached --others --exclude-standard '*.go')

# What the user interface is made of and is newer than what was built of it.
WEBSTALE = $$([ -f web/dist/index.html ] || echo all; find web api \( -name node_modules -o -name dist -o -name artifacts \) -prune -o -type f -newer web/dist/index.html -print 2>/dev/null)

.PHONY: help run build web test test-go test-web test-ui lint generate bench clean

help: ## list the targets
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/\1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r name what; do printf '  make %-10s %s\n' "$$name" "$$what"; done

run: web build ## start Belay here: private Postgres, demo agent, a token; ARGS="--nodes 2"
	@.ci/install run
	@exec ./bin/belay dev $(ARGS)

build: ## build bin/belay, with the user interface as it was built
	@command -v $(GO) >/dev/null || { echo "Go is needed: see go.mod for the version" >&2; exit 1; }
	@mkdir -p bin
	$(GO) build -trimpath -o bin/belay ./cmd/belay

web: ## build the user interface into web/dist, where something in it has changed
	@if [ -n "$(WEBSTALE)" ]; then .ci/install web && npm --prefix web run --silent build && touch web/dist/index.html; fi

test: test-go test-web test-ui ## install what the tests need and run them all; TESTARGS="-run Stop"

test-go: web
	@.ci/install test
	$(GO) test -race -timeout 15m $(TESTARGS) ./...

test-web: ## the user interface's own tests: types, style, units
	@.ci/install web
	npm --prefix web test

test-ui: web build ## browsers on the real binary; screenshots in web/artifacts
	@.ci/install ui
	BELAY_BIN=$(CURDIR)/bin/belay npm --prefix web run --silent e2e

lint: ## gofmt, vet, staticcheck and go fix; all must be silent
	@out=$$(gofmt -l $(GOFILES)); [ -z "$$out" ] || { echo "gofmt would change:"; echo "$$out"; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	@out=$$($(GO) fix -diff ./... 2>&1) && [ -z "$$out" ] || { echo "go fix would change:"; echo "$$out"; exit 1; }

generate: ## write the generated files anew
	$(GO) generate ./...
	@.ci/install web
	npm --prefix web run --silent generate

bench: build ## measure the promises: stop, start, load, tools and queue
	@.ci/install run
	./bin/belay bench stop $(ARGS)
	./bin/belay bench start $(ARGS)
	./bin/belay bench load $(ARGS)
	./bin/belay bench tools $(ARGS)
	./bin/belay bench queue $(ARGS)

clean: ## remove what was built
	rm -rf bin
