# Cuejack's commands. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.ONESHELL:
# The builds share a folder, and the order of the gate matters.
.NOTPARALLEL:

PREFIX ?= /usr/local
DESTDIR ?=
# Where libraries go below PREFIX. Packages of Debian use lib/x86_64-linux-gnu.
LIBDIR ?= lib
# If set, the Swift libraries and headers that the library and its programs need are copied beside it, and nothing
# needs the toolchain any more: it is a C compiler then that builds programs, by the name in CLANG.
RUNTIME ?=
CLANG ?= clang
VERSION := 0.1.0
# The library's file and its SONAME. A release that breaks programs gets another SONAME.
SONAME := libAudioToolbox.so.0
LIBRARY := libAudioToolbox.so.$(VERSION)
# The build that `install` takes: release, or debug.
CONFIG ?= release
# A folder of products that are built already: given one, `install` builds no more than the plugins.
BUILT ?=
# Where shells look for completions below PREFIX. Packages of Debian use zsh/vendor-completions.
BASH_COMPLETIONS := share/bash-completion/completions
FISH_COMPLETIONS := share/fish/vendor_completions.d
ZSH_COMPLETIONS ?= share/zsh/site-functions

# How long `fuzz` makes random calls.
SECONDS_OF_CALLS ?= 3600

# How long `conformance` runs each plugin at each rate.
SECONDS_OF_NOISE ?= 10

# Our LV2 bundles, by the names of their folders.
PLUGINS := $(notdir $(wildcard Plugins/*.lv2))

SWIFT_SOURCES := Package.swift $(wildcard Sources Tests Examples Benchmarks Plugins sessions)
# clang-format 14 takes CF_ENUM for a function and breaks what follows: those headers are left to their
# writers.
C_SOURCES = $(shell grep -L CF_ENUM $$(find \
	$(wildcard Sources Tests Examples Benchmarks Plugins sessions) \
	\( -name '*.[ch]' -o -name '*.cc' -o -name '*.cpp' -o -name '*.hpp' \)) | sort)

.PHONY: help
help: ## This list, with the times on two cores.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */  make \1\t/' | expand -t 28

.PHONY: deps
deps: ## Installs the Debian packages of packages.txt that are missing (needs root or sudo for that).
	@Tests/Tools/Gates/deps

.PHONY: build
build: deps ## Builds everything as the tests run it (about 4 min).
	@Tests/Tools/Gates/build --build-tests

.PHONY: release
release: deps ## Builds the library and the command, optimised (about 4 min from a fresh clone).
	@swift build -c release --product AudioToolbox
	swift build -c release --product cuejack

.PHONY: plugins
plugins: deps ## Builds the LV2 plugins, complete, into .build/lv2 (about 10 s).
	@$(MAKE) --no-print-directory -C Plugins

# The three files together are one piece: they are to sound as if they were one. The build is that of the tests, which takes
# a quarter of the processor time of `release`.
.PHONY: demo
demo: deps ## Makes three sound files and plays them, locked to one sample, through plugins (about 2 min from a fresh clone).
	@$(MAKE) --no-print-directory -C Plugins NAMES='preset-eq limiter'
	Tests/Tools/Gates/build --product cuejack
	.build-tests/release/cuejack demo --force sessions/demo
	LV2_PATH="$(CURDIR)/.build/lv2" .build-tests/release/cuejack play \
	  sessions/demo/drums.wav sessions/demo/bass.aiff sessions/demo/chords.caf \
	  --plugin 'urn:cuejack:plugins:preset-eq#rock' --plugin urn:cuejack:plugins:limiter

.PHONY: lint
lint: deps ## Checks the form of the Swift and C sources (about 10 s).
	@swift format lint --strict --parallel --recursive $(SWIFT_SOURCES)
	clang-format --dry-run -Werror $(C_SOURCES)

.PHONY: format
format: deps ## Brings the Swift and C sources into form (about 10 s).
	@swift format --in-place --parallel --recursive $(SWIFT_SOURCES)
	clang-format -i $(C_SOURCES)

.PHONY: embedded-check
embedded-check: ## Proves that the real-time module allocates nothing, and lists what it calls outside itself (about 10 s).
	@Tests/Tools/Gates/embedded-check

.PHONY: rtsan
rtsan: deps plugins ## Plays, records, and runs plugins and a callback under RealtimeSanitizer, on a server of its own (about 20 s after `build`).
	@Tests/Tools/Gates/rtsan

.PHONY: as-package
as-package: deps ## Builds a package that depends on this one by version, without Rubber Band, which is under the GPL (about 2 min).
	@Tests/Tools/Gates/as-package

.PHONY: check
check: deps lint embedded-check ## The quick part of the gate: form, the real-time rules, and the tests without tags (about 1 min after a build).
	@Tests/Tools/Gates/tests --by-hand

# The test runner's summary is the last thing printed.
.PHONY: test
test: deps ## The gate: every check and every test (about 26 min on two cores from a fresh clone). ONLY=PATTERN runs the tests whose names match.
	@Tests/Tools/Gates/tests $(if $(ONLY),'$(ONLY)')

.PHONY: docs
docs: release ## Makes the pages of the Swift API in .build/docs, for a web server (about 10 s after `release`).
	@Tests/Tools/Gates/docs "$$(swift build -c release --show-bin-path)" .build/docs
	echo "To read them: python3 -m http.server -d .build/docs, then http://localhost:8000/documentation/"

.PHONY: tables
tables: ## Writes the tables of options in docs/command.md from the command's help (about 1 s after `build`).
	@.build-tests/release/cuejack manual docs/command.md

.PHONY: proof
proof: release ## The long proofs: ten minutes of 60 clients and of 1,000 queues, an hour of recording, 200 starts, 20 restarts, 2,000 kills of sessions, ten minutes of a session of 60 tracks, ten minutes of a tap beside busy processors, the longest cycles of ten minutes, more random calls, 300 faults of saves, pairs of calls under two sanitizers (hours: one recording lasts an hour).
	@CUEJACK_PROOF=$$(swift build -c release --show-bin-path) \
	  swift test --no-parallel --disable-xctest --filter 'APITests.ProgramTests|EngineCycleTests|FaultySaveTests|LockstepTests|LongRecordingTests|ManagedRunTests|NetworkTests|RunKillTests|RunningSessionTests|SessionKillTests|StressTests|ServerReturnTests|everyStartOfARow'
	swift build -c release --product cuejack-bench
	.build/release/cuejack-bench --only tails --tail-seconds 600
	# Instrumented functions do not keep the rules of the cycle that the compiler checks at its end.
	swift build --sanitize=thread --build-path .build-threads --product AudioToolbox \
	  -Xswiftc -Xllvm -Xswiftc -sil-disable-pass=performance-diagnostics
	Tests/Tools/Gates/sanitized-program .build-threads/debug thread pairs 10
	swift build -c release --sanitize=address --build-path .build-fuzz --product AudioToolbox
	Tests/Tools/Gates/sanitized-program .build-fuzz/release address pairs 100

# The cases need not be looked for leaks of the program that runs them.
.PHONY: fuzz
fuzz: deps plugins ## Hands damaged sound files, bundles, plugin memory, graph reports, sessions, MIDI files and messages, SoundFonts and OSC packets to what reads them, and makes random calls of the library, under AddressSanitizer (about 95 min; SECONDS_OF_CALLS=N).
	@swift build -c release --sanitize=address --build-path .build-fuzz --product cuejack-fuzz
	export ASAN_OPTIONS=detect_leaks=0
	.build-fuzz/release/cuejack-fuzz sounds --cases 100000
	.build-fuzz/release/cuejack-fuzz mutations --cases 200000
	.build-fuzz/release/cuejack-fuzz bundles --cases 10000
	.build-fuzz/release/cuejack-fuzz memory --cases 100000
	.build-fuzz/release/cuejack-fuzz reports --cases 100000
	.build-fuzz/release/cuejack-fuzz packets --cases 100000
	.build-fuzz/release/cuejack-fuzz sessions --cases 100000
	.build-fuzz/release/cuejack-fuzz midi --cases 1000000
	.build-fuzz/release/cuejack-fuzz messages --cases 100000
	LV2_PATH="$(CURDIR)/.build/lv2" .build-fuzz/release/cuejack-fuzz soundfonts --cases 100000
	swift build -c release --sanitize=address --build-path .build-fuzz --product AudioToolbox
	# A minute each with one seed after the other; "calls 60 SEED" makes nearly the same calls again.
	seed=$$(date +%s)
	for ((done = 0; done < $(SECONDS_OF_CALLS); done += 60)); do
	  Tests/Tools/Gates/sanitized-program .build-fuzz/release address calls 60 $$((seed + done))
	done

.PHONY: portability
portability: ## Builds the command, plays the demo and runs the tests of PipeWire in a Debian 13 root (needs root and a mirror; about 10 min).
	@Tests/Tools/Gates/portability

# A machine that does other things as well takes longer: nothing is judged by the clock.
.PHONY: conformance
conformance: release plugins ## Installs every Debian package of LV2 plugins, checks each plugin and each audio unit, and writes the tables anew (about half an hour after `release`).
	@Tests/Tools/Gates/deps Tests/Tools/Conformance/packages.txt Tests/Tools/Conformance/tools.txt
	swift build -c release --product plain-lv2-host
	built=$$(swift build -c release --show-bin-path)
	export CUEJACK=$$built/cuejack PLAIN=$$built/plain-lv2-host
	plugins=$$(Tests/Tools/Conformance/list)
	Tests/Tools/Conformance/run --seconds $(SECONDS_OF_NOISE) --processes $$(nproc) Tests/Tools/Conformance/table.md <<<"$$plugins"
	Tests/Tools/Conformance/components Tests/Tools/Conformance/components.md

# The mixes of plugins need packages that nothing else does: calf-plugins lsp-plugins-lv2 x42-plugins.
# Without them the rows say so.
.PHONY: bench
bench: release ## Measures, side by side with other programs; PLOTS=1 also writes docs/plots and docs/benchmarks.json (about 6 min after `release`). QUICK=1 keeps this build, and the next time compares a changed one with it (60 s).
	@swift build -c release --product cuejack-bench
ifdef QUICK
	@built=$$(swift build -c release --show-bin-path) kept=.build/bench-before
	if [ -d $$kept ]; then
		$$built/cuejack-bench --before $$kept/cuejack-bench
		echo "rm -r $$kept makes the next build the one to compare with"
	else
		mkdir -p $$kept
		cp $$built/cuejack-bench $$built/cuejack $$kept
		echo "this build is in $$kept: change something, and make bench QUICK=1 compares"
	fi
else
	.build/release/cuejack-bench $(if $(PLOTS),--plots docs/plots --json docs/benchmarks.json)
endif

.PHONY: install
install: ## Installs to PREFIX, under DESTDIR. CONFIG=debug for a debug build.
	@$(foreach name,PREFIX DESTDIR LIBDIR RUNTIME CLANG VERSION SONAME LIBRARY CONFIG BUILT BASH_COMPLETIONS FISH_COMPLETIONS ZSH_COMPLETIONS,$(name)='$($(name))') Packaging/install

.PHONY: deb
deb: release plugins ## Builds the Debian packages into .build/deb.
	@Tests/Tools/Gates/deps <(echo dpkg-dev)
	rm -rf .build/deb
	Packaging/deb .build/deb

.PHONY: deb-check
deb-check: ## Installs the packages in fresh Debian 12 and 13 roots, uses them there, and reads them with lintian (needs root and a mirror).
	@Tests/Tools/Gates/deb-check

.PHONY: release-check
release-check: deps ## Checks that this commit may get its release's tag, and builds a program that depends on it by version.
	@Tests/Tools/Gates/release-check

.PHONY: uninstall
uninstall: ## Takes away what `install` put there.
	@root='$(DESTDIR)$(PREFIX)'
	rm -f "$$root/bin/cuejack" "$$root/bin/cuejack-session" "$$root/$(LIBDIR)/pkgconfig/AudioToolbox"{,-swift}.pc
	rm -f "$$root/share/"{applications/org.cuejack.session.desktop,metainfo/org.cuejack.session.metainfo.xml}
	rm -f "$$root/share/icons/hicolor/scalable/apps/org.cuejack.session.svg" "$$root/lib/systemd/user/cuejack-session@.service"
	rm -f "$$root/share/man/man1/cuejack"{,-*}.1 "$$root/$(BASH_COMPLETIONS)/cuejack" \
	  "$$root/$(FISH_COMPLETIONS)/cuejack.fish" "$$root/$(ZSH_COMPLETIONS)/_cuejack"
	rm -f "$$root/$(LIBDIR)/"{libAudioToolbox.so,$(SONAME),$(LIBRARY),.debug/$(LIBRARY).debug}
	rm -rf "$$root/share/cuejack" "$$root/include/cuejack" "$$root/$(LIBDIR)/cuejack" "$$root/$(LIBDIR)/cmake/AudioToolbox" $(foreach plugin,$(PLUGINS),"$$root/lib/lv2/$(plugin)")

.PHONY: clean
clean: ## Removes everything that was built or generated.
	@rm -rf .build .build-* sessions/demo
