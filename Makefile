# Each target is one line in `make help`. scripts/ does the work; CONTRIBUTING.md lists the other
# scripts.

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
.PHONY: demo build test lint docs examples bench install uninstall package release ci clean help

demo: ## install what a build needs, build a debug program, and show live events
	@scripts/demo.sh

build: ## build the release program: dist/pusher-cli
	@scripts/build.sh $(PROGRAM)

test: ## install what the tests need and run them all
	@scripts/test.sh

lint: ## check the form of sources, manual and scripts, spelling and plain English
	@scripts/lint.sh

docs: ## build the documentation of the libraries; a warning fails
	@scripts/docs.sh

examples: build ## build the programs of Examples/ and run them against a local server
	@scripts/examples.sh $(PROGRAM)

bench: ## print twelve rows of speed and memory; BENCH_TABLES names more tables
	@scripts/bench.sh

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

package: build ## build all packages in dist/: Debian, tarball, wheel, rpm and Arch Linux
	@scripts/package.sh all $(PROGRAM) dist

release: ## check and make a release in dist/, and say what a person must still do
	@scripts/release.sh

ci: ## check all that a change must pass
	@.ci/run

clean: ## remove everything that was built
	rm -rf .build .build-* dist

help:
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r door does; \
	  do printf '  make %-10s %s\n' "$$door" "$$does"; done

# Builds only if the program is missing, because installing as another user must not build again.
$(PROGRAM):
	@scripts/build.sh $(PROGRAM)
