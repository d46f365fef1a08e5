# Each door is one line in `make help`; the work is in scripts/.

PREFIX  ?= /usr/local
DESTDIR ?=
SWIFT   ?= swift

PROGRAM := dist/pusher-cli
MANUAL  := man/pusher-cli.1
BINDIR   = $(DESTDIR)$(PREFIX)/bin
SHAREDIR = $(DESTDIR)$(PREFIX)/share
MANDIR   = $(SHAREDIR)/man/man1
BASHDIR  = $(SHAREDIR)/bash-completion/completions
ZSHDIR   = $(SHAREDIR)/zsh/site-functions
FISHDIR  = $(SHAREDIR)/fish/vendor_completions.d

export SWIFT

.DEFAULT_GOAL := build
.PHONY: demo build docs man examples recipes test test-threads test-redis lint format conformance bench console-figures screenshots soak faults fuzz differential tsan asan install uninstall deb dist packagecheck \
  traits clean help

demo: ## install what a build needs, build, and show live events from a local server
	@scripts/install-packages.sh build
	@$(MAKE) --no-print-directory build
	@scripts/demo.sh $(PROGRAM)

build: ## build the release program: dist/pusher-cli
	@scripts/build.sh $(PROGRAM)

docs: ## build the documentation of the libraries; a warning fails
	@scripts/docs.sh

man: ## write the manual from its template and the flag table
	@scripts/manual.sh

examples: ## build the programs of Examples/ and run them against a local server
	@$(MAKE) --no-print-directory build
	@scripts/examples.sh $(PROGRAM)

recipes: ## run the recipes for Redis, PostgreSQL, NATS, Kafka, syslog and S3 against the engines, and count
	@$(MAKE) --no-print-directory build
	@scripts/recipes.sh $(PROGRAM)

test: ## install what the tests need and run them all
	@scripts/test.sh

test-threads: ## the tests of the program again, with every server on two threads
	@PUSHER_CLI_TEST_SERVE='--threads 2' scripts/test.sh

test-redis: ## the tests of the program again, with every server on a Redis
	@scripts/test-redis.sh

lint: ## check the form of sources, manual and scripts, spelling and plain English
	@scripts/lint.sh

format: ## put the Swift sources into form
	$(SWIFT) format --in-place --parallel --recursive Sources Tests Package.swift

conformance: ## run the Autobahn test suite against the WebSocket client
	@scripts/conformance.sh

bench: ## measure speed and memory against a floor and two Python clients
	@scripts/bench.sh

console-figures: ## measure what the console's page costs a browser, with up to a million entries and in MINUTES (1) of a thousand events a second
	@scripts/console-figures.sh

screenshots: ## take pictures of the console, and renew those of docs/images
	@scripts/screenshots.sh

soak: ## break and make connections for MINUTES (5); descriptors and memory must stay flat
	@scripts/soak.sh

faults: ## run three servers on one Redis through random faults for MINUTES (5), and check what clients are told
	@scripts/faults.sh

fuzz: ## run each fuzzing harness for SECONDS (60); HARNESS=NAME runs one
	@FUZZ_SECONDS="$(or $(SECONDS),60)" scripts/fuzz.sh $(HARNESS)

differential: ## hold the fast path from messages to lines against the general one, over COUNT messages (10,000,000) from SEED (1)
	@scripts/differential.sh $(or $(COUNT),10000000) $(or $(SEED),1)

tsan: ## run all tests with ThreadSanitizer
	@scripts/sanitize.sh thread

asan: ## run all tests with AddressSanitizer
	@scripts/sanitize.sh address

install: $(PROGRAM) ## install program, manual and completions under DESTDIR and PREFIX (/usr/local)
	install -d "$(BINDIR)" "$(MANDIR)" "$(BASHDIR)" "$(ZSHDIR)" "$(FISHDIR)"
	install -m 755 $(PROGRAM) "$(BINDIR)/pusher-cli"
	install -m 644 $(MANUAL) "$(MANDIR)/pusher-cli.1"
	$(PROGRAM) completion bash >"$(BASHDIR)/pusher-cli"
	$(PROGRAM) completion zsh >"$(ZSHDIR)/_pusher-cli"
	$(PROGRAM) completion fish >"$(FISHDIR)/pusher-cli.fish"

uninstall: ## remove what install put there
	rm -f "$(BINDIR)/pusher-cli" "$(MANDIR)/pusher-cli.1" "$(BASHDIR)/pusher-cli" \
	  "$(ZSHDIR)/_pusher-cli" "$(FISHDIR)/pusher-cli.fish"

deb: ## build the Debian package: dist/pusher-cli_VERSION_ARCH.deb
	@$(MAKE) --no-print-directory build
	@scripts/deb.sh $(PROGRAM) dist

dist: ## build the tarball with checksums: dist/pusher-cli-VERSION-linux-ARCH.tar.gz
	@$(MAKE) --no-print-directory build
	@scripts/dist.sh $(PROGRAM) dist

packagecheck: ## check the packages and units; install, use, upgrade and remove in a bare system
	@scripts/install-packages.sh package
	@$(MAKE) --no-print-directory build
	@scripts/check-packages.sh $(PROGRAM) $(RELEASE)

traits: ## build without the traits of the package; the program then needs neither libsodium nor hiredis
	@scripts/install-packages.sh build
	@scripts/check-traits.sh

clean: ## remove everything that was built
	rm -rf .build .build-* dist

help: ## show this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r door does; \
	  do printf '  make %-15s %s\n' "$$door" "$$does"; done

# Installing as another user must not build again: only a missing program is built.
$(PROGRAM):
	@scripts/build.sh $(PROGRAM)
